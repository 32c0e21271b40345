"""A probe run on a lab whose hosts fail by a script: what it yields, and what it leaves behind."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchkit.processes import program
from labkit.bound import BOUND
from labkit.faults import Fault, to_json
from labkit.process_faults import programs_on
from labkit.registry import ROOT_REGISTRY, Registry
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.formats.measurements import Measurement

# Kinds that a run may well survive unharmed. Those that meet a program between two pairs, in a tool
# that starts one for every pair, count among them.
_MILD = ("thaw", "slow", "blink", "kill", "freeze")

Pairs = set[tuple[str, str]]


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Args:
        code: its exit code.
        seconds: how long it took.
        complaint: its standard error.
        measured: the directed pairs, by name, that have a reading.
        failed: the hosts that the file names as failed, themselves or in a pair.
    """

    code: int
    seconds: float
    complaint: str
    measured: Pairs
    failed: set[str]


def probe_with_faults(
    directory: Path, script: Iterable[Fault], out: Path, *options: object, timeout_s: float
) -> Outcome:
    """Run `plink probe` over a root's lab in a folder, `out` being the file that it writes.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    lab = Registry(ROOT_REGISTRY).find_by_directory(directory).name
    where = (directory / "hosts.txt", "-F", directory / "ssh_config", "-o", out)
    argv = [*BOUND, *program("faulted_plink"), lab, to_json(script), "probe", *where, *options]
    began = time.monotonic()
    done = subprocess.run(
        list(map(str, argv)),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        check=False,
        timeout=timeout_s,
    )
    seconds = time.monotonic() - began
    measured, failed = _result_in(out)
    return Outcome(done.returncode, seconds, done.stderr, measured, failed)


def _result_in(path: Path) -> tuple[Pairs, set[str]]:
    if not path.exists():
        return set(), set()
    cluster = cluster_file.read_cluster(str(path))
    measurement, readings = _measurement(cluster)
    pairs = np.argwhere(~np.isnan(readings))
    failures = measurement.failures
    failed = {failure.source for failure in failures}
    failed |= {failure.destination for failure in failures if failure.destination is not None}
    return {(cluster.names[i], cluster.names[j]) for i, j in pairs}, failed


def spared_pairs(names: Sequence[str], script: Iterable[Fault]) -> Pairs:
    """The directed pairs, by name, that no fault of a script may cost."""
    pairs = {(a, b) for a in names for b in names if a != b}
    for fault in script:
        concerned = {fault.host, *fault.others}
        if fault.kind == "partition":
            pairs -= {(a, b) for a, b in pairs if (a in concerned) != (b in concerned)}
        elif fault.kind == "one-way":
            pairs -= {(a, b) for a, b in pairs if {a, b} <= concerned}
        else:
            pairs -= {(a, b) for a, b in pairs if fault.host in (a, b)}
    return pairs


def must_be_named(script: Iterable[Fault]) -> list[str]:
    """The hosts that a run with this script has to name in a warning."""
    return [fault.host for fault in script if fault.kind not in _MILD]


def seconds_until_clean(directory: Path, limit_s: float) -> float | None:
    """How long the hosts of a lab still run anything that was started there; None: beyond."""
    state = Registry(ROOT_REGISTRY).find_by_directory(directory)
    began = time.monotonic()
    while any(programs_on(state, host.name) for host in state.topology.hosts):
        if time.monotonic() - began > limit_s:
            return None
        time.sleep(0.1)
    return time.monotonic() - began


def _measurement(cluster: Cluster) -> tuple[Measurement, Matrix]:
    """The one quantity that was measured, and of it what stands for a pair."""
    if cluster.bandwidth is not None:
        return cluster.bandwidth, cluster.bandwidth.gbit_s
    if cluster.routes is not None:
        return cluster.routes, cluster.routes.hops
    rtt = cluster_file.require_rtt(cluster, "the cluster file")
    return rtt, rtt.readings_us
