"""Collection of all reached hosts' network settings, counters, clocks and load."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timezone
from statistics import median

from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.formats.conditions import ConditionMeasurement, NamedCondition
from plink.formats.measurements import Failure
from plink.probes.condition import HostCondition, ProcessorShares, ask, measure_processor_shares
from plink.probes.errors import HostError
from plink.probes.facts import count_sharing_hosts
from plink.probes.reach import Reached, ReachedHost
from plink.probes.remote.session import for_each

TOOL = "shell"
# Hosts that seem to get little of a processor, beside the others, are asked again so often in all.
_TURNS = 4
_LITTLE = 0.75


def ask_conditions(
    reached: Reached, progress: ProgressListener, concurrency: int
) -> ConditionMeasurement:
    """Ask all hosts for network settings, counters and processor share; failures are recorded.

    Shares of all processors' time are left out where all hosts run on one machine: they have the
    same processors, and a difference says only that they were asked at different moments.
    """
    progress.stage("asking hosts", len(reached.hosts))
    started, began_s = datetime.now(timezone.utc), time.monotonic()
    conditions: dict[str, HostCondition] = {}
    failures = []
    for host, outcome in for_each(_ask, reached.hosts, concurrency):
        if isinstance(outcome, HostError):
            failures.append(Failure(host.name, str(outcome)))
        else:
            conditions[host.name] = outcome
        progress.step()
    for name, shares in _measure_processor_shares(reached, concurrency).items():
        if name in conditions:
            conditions[name] = replace(conditions[name], **vars(shares))
    facts = [host.facts for host in reached.hosts]
    if count_sharing_hosts(facts) and len({fact.machine for fact in facts}) == 1:
        conditions = {
            name: replace(condition, busy_share=None, steal_share=None)
            for name, condition in conditions.items()
        }
    return ConditionMeasurement(
        tool=TOOL,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - began_s,
        failures=failures,
        hosts=[
            NamedCondition(host.name, conditions[host.name])
            for host in reached.hosts
            if host.name in conditions
        ],
    )


def _measure_processor_shares(reached: Reached, concurrency: int) -> dict[str, ProcessorShares]:
    """Run busy loops on all hosts, again where they get little; return the best share of each."""
    facts = [host.facts for host in reached.hosts]
    cores = min(fact.cores for fact in facts)
    at_once = min(cores, concurrency) if count_sharing_hosts(facts) else concurrency
    best: dict[str, ProcessorShares] = {}
    asked: Sequence[ReachedHost] = reached.hosts
    for _ in range(_TURNS):
        for host, outcome in for_each(
            lambda host: measure_processor_shares(host.session), asked, at_once
        ):
            if isinstance(outcome, ProcessorShares):
                best[host.name] = max(outcome, best.get(host.name, outcome), key=_share)
        # Other work that comes and goes does not come each time.
        usual = median(map(_share, best.values())) if best else 0.0
        asked = [
            host
            for host in asked
            if host.name in best
            and (share := best[host.name].processor_share) is not None
            and share < _LITTLE * usual
        ]
        if not asked:
            break
    return best


def _share(turns: ProcessorShares) -> float:
    return turns.processor_share or 0.0


def _ask(host: ReachedHost) -> HostCondition:
    interfaces = {known.address: known.interface for known in host.facts.addresses[::-1]}
    return ask(host.session, interfaces.get(host.address, ""))
