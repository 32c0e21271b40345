"""A probe run from host list to cluster: reach, measure, gather, whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Protocol

from plink.errors import PlinkError
from plink.files.cluster import Cluster, Failure, Host, RttMeasurement, Unreachable
from plink.probing.collector import Collector
from plink.probing.limits import DEFAULT_COUNTS
from plink.probing.request import ProbeRequest
from plink.probing.resume import kept_hosts, moved_hosts
from plink.probing.tools import TOOLS, ToolOptions
from probes.concurrency import most_pairs, shared_machines
from probes.reach import Reached, ReachedHost, reach


class Progress(Protocol):
    """Told how far the run is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""

    def step(self) -> None:
        """A step of the current stage is done."""

    def say(self, text: str) -> None:
        """Something the user should know."""


@dataclass(frozen=True)
class ProbeResult:
    """What a run yielded.

    Args:
        cluster: what to write.
        measurement: the measurement in it.
        measured: directed pairs of the cluster that have a reading, all in all.
        interrupted: the user stopped it before it was complete.
    """

    cluster: Cluster
    measurement: RttMeasurement
    measured: int
    interrupted: bool


def probe(request: ProbeRequest, progress: Progress) -> ProbeResult:
    """Measure a cluster.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        PlinkError: fewer than two hosts can be reached, or one cannot and the run is strict.
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    progress.stage("connecting", len(request.hosts))
    with reach(
        request.hosts,
        request.ssh,
        network=request.network,
        interface=request.interface,
        on_done=progress.step,
    ) as reached:
        _check_enough(request, reached)
        return _measure(request, reached, progress)


def _check_enough(request: ProbeRequest, reached: Reached) -> None:
    if reached.failures and request.strict:
        first = reached.failures[0]
        raise PlinkError(f"{first.host}: {first}", first.hint or "leave out --strict to go on")
    if len(reached.hosts) < 2:
        reasons = "; ".join(f"{error.host}: {error}" for error in reached.failures[:3])
        more = "; ..." if len(reached.failures) > 3 else ""
        hint = next((error.hint for error in reached.failures if error.hint), None)
        raise PlinkError(f"fewer than two hosts can be reached ({reasons}{more})", hint)


def _measure(request: ProbeRequest, reached: Reached, progress: Progress) -> ProbeResult:
    present = {host.name: _to_host(host) for host in reached.hosts}
    hosts = kept_hosts(request.hosts, present, request.earlier)
    places = {host.name: place for place, host in enumerate(hosts)}
    moved = moved_hosts(hosts, request.earlier)
    collector = Collector(
        hosts,
        [places[name] for name in present],
        request.percentiles,
        earlier=request.earlier,
        moved=moved,
        on_settled=progress.step,
    )
    collector.failures += _absent(reached, places)
    wanted = collector.missing()
    options = _tool_options(request, reached.hosts)
    notes = [*_moves(hosts, moved), *_notes(reached.hosts, options.concurrency)]
    for note in notes:
        progress.say(note)
    progress.stage("probing", len(wanted))
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    began = time.monotonic()
    interrupted = False
    try:
        if wanted:
            TOOLS[request.tool](reached.hosts, wanted, options, collector)
    except KeyboardInterrupt:
        if collector.readings == 0:
            raise
        interrupted = True
    earlier_s = request.earlier.rtt.seconds if request.earlier and request.earlier.rtt else 0.0
    measurement = collector.measurement(
        reading=request.reading,
        tool=request.tool,
        options=_recorded_options(request, options),
        started=started,
        seconds=earlier_s + time.monotonic() - began,
        notes=notes,
    )
    cluster = Cluster(
        hosts=hosts,
        rtt=measurement,
        unreachable=_unreachable(request, reached, places),
        made_from=request.made_from,
    )
    return ProbeResult(cluster, measurement, collector.readings, interrupted)


def _tool_options(request: ProbeRequest, hosts: Sequence[ReachedHost]) -> ToolOptions:
    return ToolOptions(
        count=request.count or DEFAULT_COUNTS[request.tool],
        percentiles=request.percentiles,
        timeout_s=request.timeout_s,
        concurrency=request.concurrency or most_pairs([host.facts for host in hosts]),
        port=request.port,
        ssh_concurrency=request.ssh.concurrency,
        remote_cache=request.remote_cache,
    )


def _recorded_options(request: ProbeRequest, options: ToolOptions) -> dict[str, Any]:
    return {
        "count": options.count,
        "percentile": request.reading,
        "timeout_s": options.timeout_s,
        "concurrency": options.concurrency,
        **({"network": str(request.network)} if request.network else {}),
        **({"interface": request.interface} if request.interface else {}),
    }


def _notes(hosts: Sequence[ReachedHost], concurrency: int) -> list[str]:
    facts = [host.facts for host in hosts]
    sharing = shared_machines(facts)
    if not sharing:
        return []
    fitting = most_pairs(facts)
    pairs = "1 pair" if concurrency == 1 else f"{concurrency} pairs"
    note = f"{sharing} of {len(hosts)} hosts share a machine: {pairs} at a time"
    if concurrency > fitting:
        note += f", more than its cores allow ({fitting}): readings disturb each other"
    return [note]


def _to_host(reached: ReachedHost) -> Host:
    return Host(
        name=reached.name,
        address=reached.address,
        ssh_address=reached.target.hostname,
        user=reached.listed.user,
        port=reached.listed.port,
        slots=reached.listed.slots,
    )


def _absent(reached: Reached, kept: Container[str]) -> list[Failure]:
    """Hosts that an earlier run knows and this one could not reach."""
    return [
        Failure(error.host, f"{error} (what was measured earlier is kept)")
        for error in reached.failures
        if error.host in kept
    ]


def _unreachable(
    request: ProbeRequest, reached: Reached, kept: Container[str]
) -> list[Unreachable]:
    reasons = {error.host: str(error) for error in reached.failures if error.host not in kept}
    return [
        Unreachable(
            host.name,
            reasons[host.name],
            user=host.user,
            port=host.port,
            slots=host.slots,
            position=position,
        )
        for position, host in enumerate(request.hosts)
        if host.name in reasons
    ]


def _moves(hosts: Sequence[Host], moved: Mapping[str, str]) -> list[str]:
    return [
        f"{host.name} had the address {moved[host.name]} and now has {host.address}: "
        "its earlier readings are dropped"
        for host in hosts
        if host.name in moved
    ]
