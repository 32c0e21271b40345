"""From a list of hosts to an all-reduce, on labs whose shape is drawn.

`plink probe --all`, `plink plan`, then the engine along the plan beside Gloo in the given order of
hosts, in plink's, and with the true racks in sequence. The limit is that of the lab's own links
(docs/plan.md), for what Ethernet leaves to TCP. A lab a seed, from --seed on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchkit.arguments import add_keep, add_seed
from benchkit.drawn_labs import DrawnLab, draw_for_chain
from benchkit.labs import BenchLab, bench_lab, rack_numbers
from benchkit.plans import TCP_SHARE, lab_network, limit_s
from benchkit.report import Report
from benchmarks.orders import ASKED_OF_RACKS
from plink.base.errors import EXIT_PARTIAL
from plink.base.size import parse_size
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink

EXAMPLE = "--seed 11 --keep chain"
QUICK = "--size 2MB --rounds 1 --repetitions 1"
HEADER = (
    "seed",
    "hosts of racks; hops; Mbit/s of host/uplink",
    "round trips, s",
    "uplinks, s",
    "probe --all, s",
    "plan, s",
    "groups, AMI",
    "uplinks' error",
    "plan",
    "engine, s",
    "Gloo given, s",
    "Gloo plink, s",
    "Gloo racks, s",
    "plink / racks",
    "limit, s",
)
# Of the labs, how many have right groups and uplinks, and an order as good as that of the racks.
ASKED_SHARE = {"groups and uplinks": 0.95, "an order within 5 % of the racks'": 0.9}
# Of an uplink's bandwidth, the largest relative error that is right.
MOST_ERROR = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    add_seed(parser)
    parser.add_argument("--labs", type=int, default=1, help="how many, a seed each")
    parser.add_argument("--size", default="20MB", help="of the buffer")
    parser.add_argument("--rounds", default="3", help="of plink bench")
    parser.add_argument("--repetitions", default="3", help="of plink bench")
    add_keep(parser, "the files")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    rows, verdicts = [], []
    for seed in range(arguments.seed, arguments.seed + arguments.labs):
        drawn = draw_for_chain(seed)
        with (
            tempfile.TemporaryDirectory(prefix="plink-drawn-") as folder,
            bench_lab(*drawn.options(Path(folder))) as lab,
        ):
            shape = f"{drawn} hops; {drawn.host_mbit}/{drawn.uplink_mbit}"
            row, verdict = _chain(lab, drawn, arguments)
            rows.append((str(seed), shape, *row))
            verdicts.append(verdict)
            if arguments.keep is not None:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                for name in ("cluster.json", "plan.json", "bench.json"):
                    shutil.copy(lab.dir / name, arguments.keep / f"{seed}-{name}")
    report.table(HEADER, rows)
    by_target = zip(*verdicts, strict=True)
    for (what, share), are_right in zip(ASKED_SHARE.items(), by_target, strict=True):
        report.at_least(f"labs with {what}", share * arguments.labs, sum(are_right))


def _chain(
    lab: BenchLab, drawn: DrawnLab, arguments: argparse.Namespace
) -> tuple[tuple[str, ...], tuple[bool, bool]]:
    """A lab's row, and whether groups and uplinks are right and the order as good as the racks'."""
    cluster_path, plan_path = lab.dir / "cluster.json", lab.dir / "plan.json"
    probe_s = _run(lab, "probe", lab.dir / "hosts.txt", "--all", "-o", cluster_path)
    planning = ("plan", cluster_path, "--size", arguments.size, "-o", plan_path)
    plan_s = _run(lab, *planning, over_ssh=False)
    cluster = cluster_file.read_cluster(str(cluster_path))
    error = uplinks_error(cluster, lab.racks, drawn)
    times = _bench(lab, arguments)
    of_racks, groups_right = times["plink"] / times["racks"], agreement(cluster, lab.racks)
    row = (
        "–" if cluster.rtt is None else f"{cluster.rtt.seconds:.1f}",
        "–" if cluster.uplinks is None else f"{cluster.uplinks.seconds:.1f}",
        f"{probe_s:.1f}",
        f"{plan_s:.1f}",
        f"{groups_right:.2f}",
        "–" if error is None else f"{100 * error:.1f} %",
        json.loads(plan_path.read_text())["kind"],
        *(f"{times[name]:.3f}" for name in ("engine", "given", "plink", "racks")),
        f"{of_racks:.3f}",
        f"{_limit_s(lab, drawn, arguments.size):.3f}",
    )
    return row, (
        groups_right > 0.999 and error is not None and error <= MOST_ERROR,
        of_racks <= ASKED_OF_RACKS,
    )


def _run(lab: BenchLab, *arguments: object, over_ssh: bool = True) -> float:
    """Seconds that a command took, which may have left something out."""
    began = time.monotonic()
    try:
        lab.plink(*arguments, over_ssh=over_ssh)
    except subprocess.CalledProcessError as error:
        if error.returncode != EXIT_PARTIAL:
            raise
    return time.monotonic() - began


def _bench(lab: BenchLab, arguments: argparse.Namespace) -> dict[str, float]:
    """Median seconds of the engine, and of Gloo by its order."""
    output = lab.dir / "bench.json"
    how = ("--rounds", arguments.rounds, "--repetitions", arguments.repetitions)
    racks = lab.dir / "racks.txt"
    racks.write_text("\n".join(lab.in_rack_order()) + "\n")
    what = ("--client", "engine,gloo", "--plan", lab.dir / "plan.json", "--size", arguments.size)
    orders = ("--orders", f"given,plink,file:{racks}")
    _run(lab, "bench", lab.dir / "cluster.json", *what, *orders, *how, "-o", output)
    rows: list[dict[str, Any]] = json.loads(output.read_text())["rows"]
    return {row["order"] if row["client"] == "gloo" else "engine": row["median_s"] for row in rows}


def _limit_s(lab: BenchLab, drawn: DrawnLab, size: str) -> float:
    network = lab_network(rack_numbers(lab), drawn.host_mbit * 1e6, drawn.uplink_mbit * 1e6)
    return limit_s(network, parse_size(size))


def agreement(cluster: Cluster, racks: Mapping[str, str]) -> float:
    """Adjusted mutual information of groups and racks; a host in no group is its own."""
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415  takes a second

    group_of = {host: group.name for group in cluster.groups for host in group.hosts}
    found = [group_of.get(host, f"alone: {host}") for host in racks]
    return float(adjusted_mutual_info_score(list(racks.values()), found))


def uplinks_error(cluster: Cluster, racks: Mapping[str, str], drawn: DrawnLab) -> float | None:
    """The largest relative error of what racks exchange, either way; None where one is not known.

    A group that is not a whole rack has no uplink of its own, and does not count.
    """
    true_hosts = {frozenset(h for h in racks if racks[h] == rack) for rack in racks.values()}
    hosts_of = {group.name: frozenset(group.hosts) for group in cluster.groups}
    known: Sequence[Uplink] = () if cluster.uplinks is None else cluster.uplinks.uplinks
    errors = []
    for uplink in known:
        hosts = hosts_of[uplink.group]
        true_mbit = min(drawn.uplink_mbit, drawn.host_mbit * len(hosts)) * TCP_SHARE
        if hosts in true_hosts:
            rates = (uplink.send_gbit_s, uplink.receive_gbit_s)
            errors += [abs(1e3 * rate / true_mbit - 1.0) for rate in rates if rate is not None]
    return max(errors) if len(errors) == 2 * len(true_hosts) else None
