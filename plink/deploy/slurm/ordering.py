"""Ordering of a Slurm job's nodes from stored round-trip times, or by measuring missing ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from plink.base.errors import PlinkError
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.deploy.slurm.allocation import Allocation, step_template
from plink.deploy.slurm.calling import run_agents
from plink.deploy.slurm.kept import Kept
from plink.deploy.slurm.switches import count_partners, fill_by_switch, parse_switches
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.order import Order
from plink.measure.drift.judge import build_baseline
from plink.measure.probing.check import build_check_request, check, select_comparable_rtt
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.run import ProbeResult, probe
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.probes.errors import ProbesError
from plink.probes.options import EchoOptions, ViaOptions
from plink.probes.reach import Way

Source = Literal["kept", "switches", "groups", "measured"]
# Opens the way by which nodes are reached.
_Reach = Callable[[], AbstractContextManager[Way]]

# More hosts are not measured each with each: so many partners tell groups (docs/sampling.md).
_MOST_IN_FULL = 64
_ROUNDS = 32
# A job waits for this, so that pairs meet less often than plink probe lets them.
_PASSES = 2
_CHECK_PARTNERS = 3
_TIMEOUT_S = 2.0
_ASK_S = 10.0
_MOST_TOPOLOGY = 4 << 20


@dataclass(frozen=True)
class Ordered:
    """Order of a Slurm job's nodes, and whether its readings were stored, estimated or measured.

    Args:
        order: order of the nodes that are known.
        hosts: all nodes of the job in the order of their ranks.
        source: `kept`: nothing was measured; `switches`, `groups`: a check; `measured`.
        pairs: directed pairs that were measured now and are kept.
        lost: nodes of which nothing is known, which come last.
    """

    order: Order
    hosts: Sequence[Host]
    source: Source
    pairs: int
    lost: Sequence[str]


def order_allocation(
    allocation: Allocation,
    kept: Kept,
    request: OrderRequest,
    progress: ProgressListener,
    *,
    agents_wait_s: float | None,
    group_of: Mapping[str, str] | None,
) -> Ordered:
    """Order a job's nodes for an algorithm, by stored, estimated or measured round trips.

    Args:
        allocation: the job.
        kept: what earlier jobs have measured, and where this one keeps what it measures.
        request: which order.
        progress: told how far it is.
        agents_wait_s: seconds to wait for agents, by which nodes are reached where something has to
            be measured; None to reach them by a job step each.
        group_of: groups of nodes that stand for one another; None for those of Slurm's switches.

    Raises:
        PlinkError: nothing is known of the nodes, and nothing could be measured.
        KeyboardInterrupt: the user, or the time limit, stopped it before it knew anything.
    """
    reach = partial(_reach, allocation, agents_wait_s, progress)
    switch_of = ask_switches() if group_of is None else group_of
    under = {switch_of[name] for name in allocation.names if name in switch_of}
    others = [name for name, switch in switch_of.items() if switch in under]
    wider = kept.read_known(allocation.names, others)
    known = None if wider is None else _restrict_to_job(wider, allocation)
    if known is not None and _suffices(known):
        return _order_hosts(known, allocation, request, "kept", 0)
    if wider is not None and wider.rtt is not None and switch_of:
        told = fill_by_switch(wider.rtt, wider.names, switch_of)
        guessed = _restrict_to_job(replace(wider, rtt=told), allocation)
        if _suffices(guessed) and _still_holds(guessed, reach, progress):
            source: Source = "switches" if group_of is None else "groups"
            return _order_hosts(guessed, allocation, request, source, 0)
    cluster, pairs = _measure_missing_pairs(known, allocation, kept, reach, progress)
    return _order_hosts(cluster, allocation, request, "measured", pairs)


def ask_switches() -> Mapping[str, str]:
    """Return the leaf switch of each node by `scontrol show topology`; empty if unknown."""
    try:
        done = subprocess.run(
            ["scontrol", "show", "topology"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return parse_switches(done.stdout[:_MOST_TOPOLOGY].decode(errors="replace"))


def _restrict_to_job(wider: Cluster, allocation: Allocation) -> Cluster:
    """Return the cluster restricted to a job's nodes, with their tasks in this job as slots."""
    size = len(allocation.hosts)
    hosts = [
        replace(host, slots=listed.slots)
        for host, listed in zip(wider.hosts[:size], allocation.hosts, strict=True)
    ]
    rtt = None if wider.rtt is None else wider.rtt.for_hosts(list(range(size)))
    return Cluster(hosts, rtt=rtt)


def _rounds(hosts: int) -> int | None:
    return None if hosts <= _MOST_IN_FULL else _ROUNDS


def _suffices(cluster: Cluster) -> bool:
    """Return whether each host has readings with as many partners as a new run would measure."""
    hosts = len(cluster.hosts)
    least = min(hosts - 1, _rounds(hosts) or hosts)
    known = cluster.rtt
    return known is not None and bool((count_partners(known.readings_us, hosts) >= least).all())


def _still_holds(cluster: Cluster, reach: _Reach, progress: ProgressListener) -> bool:
    """Measure a few pairs; return whether they agree with the cluster's estimated times."""
    rtt = select_comparable_rtt(cluster, "what is kept")
    with reach() as way:
        asked = build_check_request(
            cluster, "what is kept", {"passes": _PASSES}, timeout_s=_TIMEOUT_S, way=way
        )
        try:
            found = check(
                cluster,
                build_baseline(rtt),
                asked,
                partners=_CHECK_PARTNERS,
                transfers_s=0.0,
                progress=progress,
            )
        except PlinkError:
            return False
    return found.is_whole and not found.is_changed


def _measure_missing_pairs(
    known: Cluster | None,
    allocation: Allocation,
    kept: Kept,
    reach: _Reach,
    progress: ProgressListener,
) -> tuple[Cluster, int]:
    """Measure pairs without a reading; return the cluster and how many readings are new."""
    with reach() as way:
        request = ProbeRequest(
            allocation.hosts,
            options=EchoOptions(passes=_PASSES),
            timeout_s=_TIMEOUT_S,
            rounds=_rounds(len(allocation.hosts)),
            way=way,
            earlier=known,
        )
        result = probe(request, progress)
    if not isinstance(result, ProbeResult):
        raise TypeError("a probe with the tool echo returned no readings of pairs")
    if result.measured == 0:
        failures = result.measurement.failures
        raise PlinkError(
            "no pair of nodes could be measured", str(failures[0]) if failures else None
        )
    for text in result.warnings:
        progress.say(text)
    try:
        kept.keep(result.cluster, known, allocation.job)
    except PlinkError as error:
        progress.say(f"the readings are not kept for later jobs: {error}")
    now, before = (
        0 if each is None or each.rtt is None else int((~np.isnan(each.rtt.readings_us)).sum())
        for each in (result.cluster, known)
    )
    return result.cluster, now - before


@contextmanager
def _reach(
    allocation: Allocation, agents_wait_s: float | None, progress: ProgressListener
) -> Iterator[Way]:
    """Yield options to reach the nodes: agents, or a step each if agents cannot connect."""
    with ExitStack() as stack:
        way: Way = ViaOptions(step_template())
        if agents_wait_s is not None:
            calling = run_agents(allocation, agents_wait_s, progress)
            try:
                way = stack.enter_context(calling)
            except (PlinkError, ProbesError) as error:
                progress.say(f"agents did not call ({error}); using one srun step for each node")
        yield way


def _order_hosts(
    cluster: Cluster, allocation: Allocation, request: OrderRequest, source: Source, pairs: int
) -> Ordered:
    order = find_order(cluster, request)
    ranked = {host.name for host in order.runs}
    lost = [host for host in allocation.hosts if host.name not in ranked]
    hosts = [*order.runs, *(Host(host.name, host.name, slots=host.slots) for host in lost)]
    return Ordered(order, hosts, source, pairs, [host.name for host in lost])
