"""Probe run from host list to cluster: connect to the hosts, measure pairs, gather readings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from plink.base.interrupts import defer_interrupts
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.measurements import FollowedSample, Measurement, Sample
from plink.measure.probing import collectors, passes, tools
from plink.measure.probing.request import (
    ProbeRequest,
    build_resume_state,
    connect_hosts,
    repeat_run_record,
)
from plink.measure.probing.tools import EXAMPLE_ROUNDS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult, measure_uplinks
from plink.probes.errors import OptionError
from plink.probes.facts import count_sharing_hosts, limit_pairs
from plink.probes.hosts.address import describe_choices
from plink.probes.options import RttOptions
from plink.probes.reach import Reached, ReachedHost
from plink.probes.samples import MeasuringJob, Rounds, Wanted, no_more


@dataclass(frozen=True)
class ProbeResult:
    """Result of a run that measures pairs: the cluster, counts of readings, and warnings.

    Args:
        how: a few words on how it was measured.
        asked: directed pairs of the cluster's hosts that were to be measured, now or earlier.
        sample: which of all pairs they are; None for all.
        warnings: why some readings are not to be trusted, as sentences for the user.
    """

    cluster: Cluster
    measurement: Measurement
    how: str
    asked: int
    measured: int
    sample: Sample | None
    warnings: Sequence[str]
    interrupted: bool

    @property
    def whole(self) -> int:
        """Number of directed pairs that were measured."""
        return self.measured


def probe(
    request: ProbeRequest,
    progress: ProgressListener,
    on_result: Callable[[ProbeResult | UplinkResult], None] = lambda _: None,
    policy: passes.StoppingPolicy = passes.NO_POLICY,
) -> ProbeResult | UplinkResult:
    """Connect to the hosts of a request and measure them with the tool of its options.

    Args:
        on_result: given the result before the connections are closed, which may take long. An
            interrupt waits for it.
        policy: what the readings are for, where that decides which pairs meet again.

    Raises:
        HostListError, OptionError, WrongUseError: the request cannot be carried out as it stands.
        PlinkError: fewer than two hosts can be reached, or one cannot and the run is strict.
        KeyboardInterrupt: the user stopped it before anything was measured, or while it closed.
    """
    with connect_hosts(request, progress) as reached:
        if isinstance(request.options, UplinkOptions):
            return measure_uplinks(request, reached, progress, on_result)
        return measure_pairs(request, reached, progress, on_result, policy)


def measure_pairs(
    request: ProbeRequest,
    reached: Reached,
    progress: ProgressListener,
    on_result: Callable[[ProbeResult], None] = lambda _: None,
    policy: passes.StoppingPolicy = passes.NO_POLICY,
) -> ProbeResult:
    """Measure the pairs of a request between reached hosts; an interrupt keeps readings so far."""
    state = build_resume_state(request, reached)
    kept, options = state.cluster, request.options
    places = {name: place for place, name in enumerate(kept.names)}
    listed, present = ([host.name for host in of] for of in (request.hosts, reached.hosts))
    measured = [places[name] for name in present]
    collector = _build_collector(request, kept, measured, progress)
    collector.failures += state.absent
    sample = passes.choose_sample(len(listed), request.rounds, request.seed)
    following = _build_following(request, collector, sample)
    rounds = passes.list_rounds(listed, present, sample) if following is None else following.next()
    wanted = collector.missing(rounds)
    visits: passes.FurtherRounds | None = None
    if isinstance(collector, collectors.RttCollector) and isinstance(options, RttOptions):
        earlier = None if request.earlier is None else request.earlier.rtt
        # Readings without a record of passes stay as they are, unless more passes are asked for.
        is_whole = earlier is None or earlier.passes is not None or options.extra_passes
        visits = passes.FurtherRounds(
            collector,
            measured,
            rounds if is_whole else [[(min(pair), max(pair)) for pair in wanted]],
            wanted,
            options,
            seed=request.seed,
            policy=policy,
            following=following,
            on_pass=lambda number, total: progress.stage(f"pass {number}", total),
        )
    is_due = bool(wanted) or (visits is not None and visits.is_due)
    job = build_job(request, reached.hosts, wanted, rounds, visits)
    notes = [*state.moves, *_describe_hosts(request, reached.hosts, job.concurrency)]
    for note in [*notes, *passes.advise_sampling(len(reached.hosts), sample, EXAMPLE_ROUNDS)]:
        progress.say(note)
    if wanted:
        progress.stage("probing", len(wanted))
    started, began = datetime.now(timezone.utc).isoformat(timespec="seconds"), time.monotonic()
    interrupted = False
    try:
        if is_due:
            tools.measure(job, collector)
    except KeyboardInterrupt:
        if collector.readings == 0:
            raise
        interrupted = True
    with defer_interrupts():
        before = kept.find_measurement(collector.quantity)
        if is_due or before is None:
            run = Measurement(
                tool=request.tool,
                options={
                    **options.to_record(),
                    "timeout_s": job.timeout_s,
                    "concurrency": job.concurrency,
                    **({} if sample is None else sample.to_options()),
                    **request.recorded_addresses(),
                },
                started=started,
                seconds=(before.seconds if before else 0.0) + time.monotonic() - began,
                notes=[*notes, *collector.remarks, *collector.warnings()],
            )
            done = [options.describe()]
            if isinstance(options, RttOptions):
                done += collector.describe_precision(options.precision_percent)
        else:
            run = repeat_run_record(before, sample, state.moves)
            done = ["nothing measured anew"]
        cluster, measurement = collector.result(run)
        if is_due and isinstance(collector, collectors.RttCollector) and not cluster.groups:
            # That there are no groups was said of other readings.
            cluster = replace(cluster, grouping=None)
        asked = (
            passes.list_rounds(listed, kept.names, sample)
            if following is None
            else [[(measured[i], measured[j]) for i, j in met] for met in following.pairs]
        )
        result = ProbeResult(
            cluster=cluster,
            measurement=measurement,
            how=", ".join(done),
            asked=collector.count_asked(asked),
            measured=collector.readings,
            sample=sample,
            warnings=collector.warnings(),
            interrupted=interrupted,
        )
        on_result(result)
    return result


def _build_collector(
    request: ProbeRequest, kept: Cluster, measured: Sequence[int], progress: ProgressListener
) -> collectors.Collector[Any]:
    callbacks: dict[str, Any] = {"on_settled": progress.step, "on_remark": progress.say}
    if isinstance(request.options, RttOptions):
        return collectors.RttCollector(kept, measured, request.options.percentiles, **callbacks)
    is_rate = request.options.quantity == "bandwidth"
    return (collectors.BandwidthCollector if is_rate else collectors.RouteCollector)(
        kept, measured, **callbacks
    )


def build_job(
    request: ProbeRequest,
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    visits: passes.FurtherRounds | None,
) -> MeasuringJob[Any]:
    """Build the input of the request's measuring tool; `visits` supplies further rounds."""
    fitting = limit_pairs([host.facts for host in hosts], request.options.cores_per_pair)
    return MeasuringJob(
        hosts,
        wanted,
        rounds,
        request.options,
        timeout_s=request.timeout_s,
        concurrency=request.concurrency or fitting,
        ssh_concurrency=request.way.concurrency,
        adaptive=request.concurrency is None,
        more=no_more if visits is None else visits.more,
        left_s=request.left_s,
    )


def _describe_hosts(
    request: ProbeRequest, hosts: Sequence[ReachedHost], concurrency: int
) -> list[str]:
    """Return notes for the user on hosts that share a machine or have several addresses."""
    choice = describe_choices(
        {host.name: host.address for host in hosts},
        {host.name: host.facts.addresses for host in hosts},
    )
    notes = [choice] if choice is not None and not request.recorded_addresses() else []
    facts = [host.facts for host in hosts]
    sharing = count_sharing_hosts(facts)
    cores_per_pair = request.options.cores_per_pair
    if not sharing or not cores_per_pair:
        return notes
    fitting = limit_pairs(facts, cores_per_pair)
    pairs = "1 pair" if concurrency == 1 else f"{concurrency} pairs"
    note = f"{sharing} of {len(hosts)} hosts share a machine: {pairs} at a time"
    if concurrency > fitting:
        note += f", more than its cores allow ({fitting}): readings disturb each other"
    elif min(fact.cores for fact in facts) < cores_per_pair:
        note += ", and the two ends of a pair on one core: do not trust these readings"
    return [note, *notes]


def _build_following(
    request: ProbeRequest, collector: collectors.Collector[Any], sample: Sample | None
) -> passes.AdaptiveSampler | None:
    if not isinstance(sample, FollowedSample):
        return None
    if not isinstance(collector, collectors.RttCollector):
        raise OptionError(
            f"automatic rounds are chosen by round-trip times, which {request.tool} does not "
            "measure"
        )
    return passes.AdaptiveSampler(collector, sample)
