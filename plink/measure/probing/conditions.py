"""Asking reached hosts for the condition of their networks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from statistics import median

from plink.base.progress import Progress
from plink.files.conditions import ConditionMeasurement, NamedCondition
from plink.files.measurement import Failure
from plink.probes import condition
from plink.probes.condition import HostCondition
from plink.probes.errors import HostError
from plink.probes.facts import shared_machines
from plink.probes.reach import Reached, ReachedHost
from plink.probes.remote import parallel

TOOL = "shell"
# Hosts that seem to get little of a processor, beside the others, are asked again so often in all.
_TURNS = 4
_LITTLE = 0.75


def ask_conditions(reached: Reached, progress: Progress, concurrency: int) -> ConditionMeasurement:
    """What all hosts say, while nothing is measured; those that do not say are failures."""
    progress.stage("asking hosts", len(reached.hosts))
    started, began_s = datetime.now(timezone.utc), time.monotonic()
    said: dict[str, HostCondition] = {}
    failures = []
    for host, outcome in parallel.each(_ask, reached.hosts, concurrency):
        if isinstance(outcome, HostError):
            failures.append(Failure(host.name, str(outcome)))
        else:
            said[host.name] = outcome
        progress.step()
    for name, share in _processor_shares(reached, concurrency).items():
        if name in said:
            said[name] = replace(said[name], processor_share=share)
    return ConditionMeasurement(
        tool=TOOL,
        started=started.isoformat(timespec="seconds"),
        seconds=time.monotonic() - began_s,
        failures=failures,
        hosts=[
            NamedCondition(host.name, said[host.name])
            for host in reached.hosts
            if host.name in said
        ],
    )


def _processor_shares(reached: Reached, concurrency: int) -> dict[str, float]:
    """What a program gets of a processor, of so few hosts at once that they do not compete."""
    facts = [host.facts for host in reached.hosts]
    cores = min(fact.cores for fact in facts)
    at_once = min(cores, concurrency) if shared_machines(facts) else concurrency
    shares: dict[str, float] = {}
    asked: Sequence[ReachedHost] = reached.hosts
    for _ in range(_TURNS):
        for host, outcome in parallel.each(_processor_share, asked, at_once):
            if isinstance(outcome, float):
                shares[host.name] = max(outcome, shares.get(host.name, 0.0))
        # Other work that comes and goes does not come each time.
        usual = median(shares.values()) if shares else 0.0
        asked = [host for host in asked if shares.get(host.name, usual) < _LITTLE * usual]
        if not asked:
            break
    return shares


def _processor_share(host: ReachedHost) -> float | None:
    return condition.processor_share(host.session)


def _ask(host: ReachedHost) -> HostCondition:
    interface = next(
        (each.interface for each in host.facts.addresses if each.address == host.address), ""
    )
    return condition.ask(host.session, interface)
