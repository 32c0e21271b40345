"""Are the racks of labs drawn at random found?

Labs with racks and labs of one switch, in which nothing is to be found; seeds count from
--first-seed on. Every lab is probed with `plink probe` and grouped with `plink group`, both as they
are by default. AMI is that of the groups with the racks; in brackets the best of all levels that
are listed. The textbook recipe (scripts/benchkit/peers.py) has the same readings. The crossings are
those of a ring beyond the fewest that there can be, for each source of distances.
"""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchkit.drawn_labs import (
    FOUND,
    NO_RACKS,
    DrawnLab,
    RecordedLab,
    draw,
    draw_without_racks,
    write_labs,
)
from benchkit.labs import BenchLab, bench_lab
from benchkit.peers import textbook_groups
from benchkit.report import Report
from benchkit.ring_crossings import SOURCES, rings_of_lab
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.measurements import RttMeasurement
from plink.model.denoising import min_over_directions
from plink.solvers.groups.agreement import affinity

EXAMPLE = "--labs 40 --without-racks 40 --first-seed 5000"
QUICK = "--labs 1 --without-racks 1"
_LARGEST_SEED = 10**6
_HEADER = (
    *("seed", "kind", "racks; hops", "hosts", "PAIA", "AMI (levels)", "sure", "textbook"),
    *("passes", "probes", "s of probing", f"crossings: {', '.join(SOURCES)}"),
)
# Shares of the labs that were to be right, and of triplets in the true order.
_ASKED = {"two or more hops": 0.9, "one hop": 0.75, NO_RACKS: 0.95}
_ASKED_PAIA = 0.99
_ASKED_RINGS = 0.95


@dataclass(frozen=True)
class Outcome:
    """Result of discovery in one lab.

    Args:
        beyond: crossings of a ring beyond the fewest, by what distances it was searched on; empty
            without racks.
    """

    row: Sequence[object]
    lab: DrawnLab
    is_right: bool
    is_textbook_right: bool
    paia: float
    beyond: Mapping[str, int]
    readings: RecordedLab


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the benchmark's options."""
    parser.add_argument("--labs", type=int, default=10, help="labs with racks")
    parser.add_argument("--without-racks", type=int, default=5, help="labs of one switch")
    parser.add_argument("--first-seed", type=int, help="of both kinds; drawn if not given")
    parser.add_argument(
        "--record",
        metavar="FILE",
        type=Path,
        help="keep the readings, as tests/groups/recorded_quiet_labs.npz has them",
    )
    parser.add_argument(
        "--probe-option",
        action="append",
        default=[],
        help="passed on to plink probe, such as --probe-option=-v",
    )


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Draw, probe, group and compare."""
    first = arguments.first_seed
    if first is None:
        first = secrets.randbelow(_LARGEST_SEED)
    report.say(f"seeds from {first} on")
    labs = [draw(seed) for seed in range(first, first + arguments.labs)]
    labs += [draw_without_racks(seed) for seed in range(first, first + arguments.without_racks)]
    outcomes: list[Outcome] = []

    def rows() -> Iterator[Sequence[object]]:
        for lab in labs:
            outcomes.append(_outcome(lab, arguments.probe_option))
            yield outcomes[-1].row

    report.table(_HEADER, rows())
    _summarise(outcomes, report)
    if arguments.record is not None:
        write_labs(arguments.record, [outcome.readings for outcome in outcomes])


def _outcome(drawn: DrawnLab, probe_options: Sequence[str]) -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="plink-drawn-") as folder,
        bench_lab(*drawn.options(Path(folder))) as lab,
    ):
        file = lab.probe(*probe_options)
        told = lab.plink("group", file, "--json", over_ssh=False).stdout
        cluster = cluster_file.read_cluster(str(file))
        return _judge(drawn, lab, cluster, json.loads(told)["grouping"])


def _judge(drawn: DrawnLab, lab: BenchLab, cluster: Cluster, grouping: dict[str, Any]) -> Outcome:
    from sklearn.metrics import adjusted_mutual_info_score as agreement  # noqa: PLC0415

    rtt = require_rtt(cluster, "the lab")
    names = cluster.names
    racks = [lab.racks[name] for name in names]
    least = min_over_directions(cluster)
    paia = affinity(
        rtt.readings_us, [(rack, name) for rack, name in zip(racks, names, strict=True)]
    )
    groups = [group.hosts for group in cluster.groups]
    levels = grouping["levels"]
    of_levels = [agreement(racks, _labels(names, level["groups"])) for level in levels]
    mine = agreement(racks, _labels(names, groups)) if groups else None
    theirs = textbook_groups(least) if len(names) > 3 else None
    textbook = None if theirs is None else agreement(racks, theirs)
    passes = rtt.passes
    mean = 1.0 if passes is None else float(passes[passes > 0].mean())
    is_flat = drawn.kind == NO_RACKS
    halves_us = _halves(rtt)
    beyond = {} if is_flat else rings_of_lab(halves_us, racks).beyond
    row = (
        drawn.seed,
        drawn.kind,
        str(drawn),
        len(names),
        "" if is_flat else f"{paia.accuracy:.2%}",
        _format_agreement(mine, max(of_levels, default=None)),
        f"{grouping['probability']:.3f}",
        _format_agreement(textbook, None),
        f"{mean:.1f}",
        f"{int(rtt.samples.sum() + rtt.losses.sum()):,}",
        f"{rtt.seconds:.1f}",
        ", ".join(str(crossings) for crossings in beyond.values()),
    )
    return Outcome(
        row=row,
        lab=drawn,
        is_right=_is_right(mine, is_flat),
        is_textbook_right=_is_right(textbook, is_flat),
        paia=paia.accuracy,
        beyond=beyond,
        readings=RecordedLab(drawn.seed, drawn.kind, racks, halves_us),
    )


def _labels(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[str]:
    """A host that is in no group stands for itself."""
    group_of = {host: f"group {number}" for number, hosts in enumerate(groups) for host in hosts}
    return [group_of.get(name, name) for name in names]


def _is_right(found: float | None, is_flat: bool) -> bool:
    return found is None if is_flat else found is not None and found >= FOUND


def _format_agreement(found: float | None, best: float | None) -> str:
    if found is None:
        return "no structure"
    return f"{found:.2f}" if best is None else f"{found:.2f} ({best:.2f})"


def _halves(rtt: RttMeasurement) -> npt.NDArray[np.float64]:
    """(2, N, N) in µs; the second one empty where every pair met once."""
    if rtt.halves_us is not None:
        return np.stack(list(rtt.halves_us))
    return np.stack([rtt.readings_us, np.full_like(rtt.readings_us, np.nan)])


def _summarise(outcomes: Sequence[Outcome], report: Report) -> None:
    kinds: dict[str, Callable[[DrawnLab], bool]] = {
        "two or more hops": lambda lab: lab.kind != NO_RACKS and min(lab.hops) > 1,
        "one hop": lambda lab: lab.kind != NO_RACKS and min(lab.hops) == 1,
        NO_RACKS: lambda lab: lab.kind == NO_RACKS,
    }
    rows: list[list[object]] = []
    for kind, belongs in kinds.items():
        some = [outcome for outcome in outcomes if belongs(outcome.lab)]
        if some:
            paia = [outcome.paia for outcome in some if not np.isnan(outcome.paia)]
            least = f"{np.mean(paia):.2%} ({min(paia):.2%})" if paia else ""
            right = sum(outcome.is_right for outcome in some)
            textbook = sum(outcome.is_textbook_right for outcome in some)
            rows.append([kind, len(some), right, textbook, least])
            report.at_least(f"right: {kind}", _ASKED[kind], right / len(some))
            if kind == "two or more hops" and paia:
                report.at_least(f"PAIA, mean: {kind}", _ASKED_PAIA, statistics.mean(paia))
    report.table(("labs", "number", "right", "textbook right", "PAIA, mean (least)"), rows)
    with_racks = [outcome.beyond for outcome in outcomes if outcome.lab.kind != NO_RACKS]
    if with_racks:
        fewest = {source: sum(not one[source] for one in with_racks) for source in SOURCES}
        worst = {source: max(one[source] for one in with_racks) for source in SOURCES}
        rings = [[source, len(with_racks), fewest[source], worst[source]] for source in SOURCES]
        report.table(("rings on", "labs", "with the fewest crossings", "most beyond"), rings)
        share = fewest["estimate"] / len(with_racks)
        report.at_least("rings with the fewest crossings", _ASKED_RINGS, share)
