"""A probe run from host list to cluster: reach, measure, gather, whatever happens on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from plink.base.interrupts import held_back_interrupts
from plink.base.progress import Progress
from plink.files.cluster import Cluster
from plink.files.measurement import FollowedSample, Measurement, Sample
from plink.measure.probing.adapters.base import ToolOptions
from plink.measure.probing.beginning import begin
from plink.measure.probing.collectors.base import Collector, Run
from plink.measure.probing.collectors.rtt import RttCollector
from plink.measure.probing.connecting import connected
from plink.measure.probing.following import Following
from plink.measure.probing.limits import (
    DEFAULT_COUNTS,
    DEFAULT_PASSES,
    DEFAULT_PRECISION_PERCENT,
    EXAMPLE_ROUNDS,
    UPLINKS,
)
from plink.measure.probing.question import NO_QUESTION, Question
from plink.measure.probing.records import as_before, notes_on, recorded_options
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.resume import recorded_passes
from plink.measure.probing.rounds import advice, chosen_sample, directed_pairs, rounds_among
from plink.measure.probing.tools import TOOLS
from plink.measure.probing.uplinks import UplinkResult, measure_uplinks
from plink.measure.probing.visiting import visits_of
from probes.errors import OptionError
from probes.facts import most_pairs
from probes.reach import Reached, ReachedHost
from probes.samples import Rounds


@dataclass(frozen=True)
class ProbeResult:
    """What a run yielded.

    Args:
        cluster: what to write.
        measurement: the measurement in it that was made.
        how: a few words on how it was measured.
        asked: directed pairs of the cluster's hosts that were to be measured, now or earlier.
        measured: how many of them have a reading.
        sample: which of all pairs they are; None for all.
        doubts: why some readings are not to be trusted, as sentences for the user.
        interrupted: the user stopped it before it was complete.
    """

    cluster: Cluster
    measurement: Measurement
    how: str
    asked: int
    measured: int
    sample: Sample | None
    doubts: Sequence[str]
    interrupted: bool


def probe(
    request: ProbeRequest,
    progress: Progress,
    on_result: Callable[[ProbeResult | UplinkResult], None],
    question: Question = NO_QUESTION,
) -> None:
    """Measure a cluster.

    Args:
        request: what to measure.
        progress: told how far it is.
        on_result: given what the run yielded, even if that is nothing, before the connections are
            closed: closing may take long. An interrupt waits for it.
        question: what the readings are for, where that decides which pairs meet again.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        PlinkError: fewer than two hosts can be reached, or one cannot and the run is strict.
        KeyboardInterrupt: the user stopped it before anything was measured, or while it closed.
    """
    with connected(request, progress) as reached:
        if request.tool == UPLINKS:
            measure_uplinks(request, reached, progress, on_result)
        else:
            measure_pairs(request, reached, progress, on_result, question)


def measure_pairs(
    request: ProbeRequest,
    reached: Reached,
    progress: Progress,
    on_result: Callable[[ProbeResult], None],
    question: Question = NO_QUESTION,
) -> None:
    """Measure the pairs of a request whose hosts were reached, with a tool that measures pairs.

    Raises:
        KeyboardInterrupt: the user stopped it before anything was measured.
    """
    beginning = begin(request, reached)
    kept = beginning.cluster
    places = {name: place for place, name in enumerate(kept.names)}
    present = [host.name for host in reached.hosts]
    tool = TOOLS[request.tool]
    measured = [places[name] for name in present]
    collector = tool.collector(
        kept,
        measured,
        request.percentiles,
        on_settled=progress.step,
        on_remark=progress.say,
    )
    collector.failures += beginning.absent
    listed = [host.name for host in request.hosts]
    sample = chosen_sample(len(listed), request.rounds, request.seed)
    following = _following(collector, sample)
    rounds = rounds_among(listed, present, sample) if following is None else following.next()
    wanted = collector.missing(rounds)
    options = tool_options(request, reached.hosts)
    visits = visits_of(
        request,
        options,
        collector,
        progress,
        question,
        measured=measured,
        rounds=rounds,
        wanted=wanted,
        following=following,
    )
    is_due = bool(wanted) or (visits is not None and visits.is_due)
    notes = [
        *beginning.moves,
        *notes_on(reached.hosts, options.concurrency, tool.cores_per_pair),
    ]
    for note in [*notes, *advice(len(reached.hosts), sample, EXAMPLE_ROUNDS)]:
        progress.say(note)
    if wanted:
        progress.stage("probing", len(wanted))
    started = datetime.now(timezone.utc).isoformat(timespec="seconds")
    began = time.monotonic()
    interrupted = False
    try:
        if is_due:
            more = options.more if visits is None else visits.more
            options = replace(options, more=more)
            tool.measure(reached.hosts, wanted, rounds, options, collector)
    except KeyboardInterrupt:
        if collector.readings == 0:
            raise
        interrupted = True
    with held_back_interrupts():
        before = kept.measured(tool.collector.quantity)
        if is_due or before is None:
            run = Run(
                tool=request.tool,
                options=recorded_options(request, options, sample),
                started=started,
                seconds=(before.seconds if before else 0.0) + time.monotonic() - began,
                notes=[*notes, *collector.remarks, *collector.doubts()],
            )
            done = [tool.describe(options), *collector.achieved(options.precision_percent)]
        else:
            run = as_before(before, sample, beginning.moves)
            done = ["nothing measured anew"]
        cluster, measurement = collector.result(run)
        asked = _asked(listed, kept.names, sample, following, measured)
        on_result(
            ProbeResult(
                cluster=cluster,
                measurement=measurement,
                how=", ".join(done),
                asked=directed_pairs(asked),
                measured=collector.measured(asked),
                sample=sample,
                doubts=collector.doubts(),
                interrupted=interrupted,
            )
        )


def _asked(
    listed: Sequence[str],
    names: Sequence[str],
    sample: Sample | None,
    following: Following | None,
    measured: Sequence[int],
) -> Rounds:
    """The pairs of the cluster's hosts that were to be measured."""
    if following is None:
        return rounds_among(listed, names, sample)
    return [[(measured[i], measured[j]) for i, j in met] for met in following.pairs]


def _following(collector: Collector[Any], sample: Sample | None) -> Following | None:
    if not isinstance(sample, FollowedSample):
        return None
    if not isinstance(collector, RttCollector):
        raise OptionError(
            "--rounds auto follows round-trip times, which this tool does not measure"
        )
    return Following(collector, sample)


def tool_options(request: ProbeRequest, hosts: Sequence[ReachedHost]) -> ToolOptions:
    """How the request's tool measures these hosts."""
    fitting = most_pairs([host.facts for host in hosts], TOOLS[request.tool].cores_per_pair)
    return ToolOptions(
        count=request.count or DEFAULT_COUNTS.get(request.tool, 1),
        passes=request.passes or _passes_before(request) or DEFAULT_PASSES.get(request.tool, 1),
        percentiles=request.percentiles,
        timeout_s=request.timeout_s,
        concurrency=request.concurrency or fitting,
        port=request.port,
        ssh_concurrency=request.ssh.concurrency,
        remote_cache=request.remote_cache,
        precision_percent=(
            DEFAULT_PRECISION_PERCENT
            if request.precision_percent is None
            else request.precision_percent
        ),
        adaptive=request.concurrency is None,
        nics=request.nics,
        max_hops=request.max_hops,
        remote_python=request.remote_python,
        left_s=request.left_s,
        **request.transfers.given(),
    )


def _passes_before(request: ProbeRequest) -> int | None:
    before = None if request.earlier is None else request.earlier.rtt
    return None if before is None else recorded_passes(before.options)
