"""Action of `plink slurm-order`: order the nodes and never harm the job."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from plink.base.errors import EXIT_FAILED, PlinkError
from plink.base.text import format_count, format_names, json_text, rtt_text
from plink.cli.progress import StageProgress
from plink.cli.stderr import naming_unreached, note, warn
from plink.deploy.slurm.allocation import Allocation, has_one_node, read_allocation
from plink.deploy.slurm.hostfile import shell_lines, write_hostfile
from plink.deploy.slurm.kept import Kept, default_folder
from plink.deploy.slurm.ordering import Ordered, Reach, Reaching, order_allocation
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.mesh import Mesh
from plink.optimize.orders.quality import against_random
from plink.optimize.orders.request import OrderRequest
from plink.probes.errors import ProbesError

# Above, a step for each node costs more than agents that one step starts (docs/slurm.md).
_MOST_STEPS = 64
_AGENTS_WAIT_S = 30.0
_HOSTFILES = "hostfiles"
_HOW = {
    "kept": "nothing measured: all pairs are kept from earlier jobs",
    "switches": "a few pairs measured: the others are those of their switches",
    "groups": "a few pairs measured: the others are those of their groups",
}


def run_command(options: Mapping[str, Any], mesh: Mesh | None) -> int:
    """Run `plink slurm-order` with these options; return the exit code."""
    began_s = time.monotonic()
    failed = EXIT_FAILED if options["strict"] else 0
    if has_one_node(os.environ):
        note("the job has one node: there is nothing to order")
        _print_json({"ordered": False, "reason": "one node"}, as_json=options["as_json"])
        return 0
    try:
        found, allocation = _order_job(options, mesh)
        folder = _folder(options) / allocation.cluster / _HOSTFILES
        hostfile = write_hostfile(found.hosts, options["output"], folder, allocation.job)
    except (PlinkError, ProbesError, KeyboardInterrupt) as error:
        reason = str(error) or f"nothing was known within {options['within_s']:g} s"
        warn(f"the job runs in the given order: {reason}", getattr(error, "hint", None))
        _print_json({"ordered": False, "reason": reason}, as_json=options["as_json"])
        return failed
    _say(found, time.monotonic() - began_s)
    if options["as_json"]:
        _print_json(_to_json(found, hostfile, time.monotonic() - began_s), as_json=True)
    else:
        document.write_bytes(document.STANDARD_STREAM, shell_lines(hostfile).encode())
    return failed if found.lost else 0


def _order_job(options: Mapping[str, Any], mesh: Mesh | None) -> tuple[Ordered, Allocation]:
    allocation = read_allocation(os.environ, options["tasks_per_node"])
    default: Reach = "agents" if len(allocation.hosts) > _MOST_STEPS else "steps"
    request = OrderRequest(
        algorithm=options["algorithm"],
        mesh=mesh,
        seed=options["seed"],
        time_limit_s=options["time_limit_s"],
    )
    kept = Kept(_folder(options) / allocation.cluster, timedelta(days=options["max_age_days"]))
    group_of = _groups(options["groups"]) if options["groups"] else None
    reaching = Reaching(options["reach"] or default, min(_AGENTS_WAIT_S, options["within_s"] / 2))
    with interrupted_after(options["within_s"]), StageProgress() as progress, naming_unreached():
        found = order_allocation(allocation, kept, request, reaching, progress, group_of=group_of)
        return found, allocation


def _groups(path: str) -> dict[str, str]:
    """Return each host's group in a cluster file, by host name."""
    return {
        name: group.name for group in cluster_file.read_cluster(path).groups for name in group.hosts
    }


def _folder(options: Mapping[str, Any]) -> Path:
    return Path(options["keep"]) if options["keep"] else default_folder()


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupt the block, as Ctrl-C does, after a time limit."""
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(found: Ordered, seconds: float) -> None:
    how = _HOW.get(found.source, f"{format_count(found.pairs, 'directed pair')} measured")
    order = found.order
    gain = f", {against_random(order)}" if order.gain > 0.0 else ""
    note(
        f"{format_count(len(found.hosts), 'node')} ordered for {order.algorithm}: "
        f"{order.cost_name} {rtt_text(order.cost.cost_us)}, "
        f"{rtt_text(order.cost.listed_us)} as given{gain}; "
        f"{how}; {seconds:.1f} s"
    )
    if found.lost:
        names = format_names(found.lost)
        warn(
            f"there are no readings of {format_count(len(found.lost), 'node')}, which come last: "
            f"{names}"
        )


def _to_json(found: Ordered, hostfile: str, seconds: float) -> dict[str, Any]:
    return {
        "ordered": True,
        "hostfile": hostfile,
        "hosts": [{"name": host.name, "tasks": host.slots} for host in found.hosts],
        "algorithm": found.order.algorithm,
        "cost_us": found.order.cost.cost_us,
        "cost_given_us": found.order.cost.listed_us,
        "source": found.source,
        "pairs_measured": found.pairs,
        "unknown": list(found.lost),
        "seconds": round(seconds, 3),
    }


def _print_json(value: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        document.write_bytes(document.STANDARD_STREAM, f"{json_text(value)}\n".encode())
