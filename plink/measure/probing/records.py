"""What a cluster file says of a probe run besides its readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plink.files.measurement import SAMPLE_OPTIONS, Measurement, Sample
from plink.measure.probing.adapters.base import ToolOptions
from plink.measure.probing.collectors.base import Run
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.tools import TOOLS
from probes.facts import most_pairs, shared_machines
from probes.reach import ReachedHost


def recorded_options(
    request: ProbeRequest, options: ToolOptions, sample: Sample | None
) -> dict[str, Any]:
    """The options that a cluster file records."""
    tool = TOOLS[request.tool]
    return {
        **{name: getattr(options, name) for name in tool.options},
        **({"percentile": request.reading} if tool.collector.quantity == "rtt" else {}),
        **({} if sample is None else sample.to_options()),
        **address_options(request),
    }


def as_before(before: Measurement, sample: Sample | None, notes: Sequence[str]) -> Run:
    """The record of a run that found nothing missing: that of the run which measured it all.

    Args:
        sample: the part of the tournament that the run asked for, which may be another.
        notes: what is to be said beside what was.
    """
    return Run(
        tool=before.tool,
        options={
            **{name: value for name, value in before.options.items() if name not in SAMPLE_OPTIONS},
            **({} if sample is None else sample.to_options()),
        },
        started=before.started,
        seconds=before.seconds,
        notes=list(dict.fromkeys([*before.notes, *notes])),
    )


def address_options(request: ProbeRequest) -> dict[str, Any]:
    """Those of the options that choose the hosts' addresses."""
    return {
        **({"network": str(request.network)} if request.network else {}),
        **({"interface": request.interface} if request.interface else {}),
        **({"nics": [str(nic) for nic in request.nics]} if request.nics else {}),
    }


def notes_on(hosts: Sequence[ReachedHost], concurrency: int, cores_per_pair: int) -> list[str]:
    """What a reader should know of hosts that share a machine, where a pair takes so many cores."""
    facts = [host.facts for host in hosts]
    sharing = shared_machines(facts)
    if not sharing or not cores_per_pair:
        return []
    fitting = most_pairs(facts, cores_per_pair)
    pairs = "1 pair" if concurrency == 1 else f"{concurrency} pairs"
    note = f"{sharing} of {len(hosts)} hosts share a machine: {pairs} at a time"
    if concurrency > fitting:
        note += f", more than its cores allow ({fitting}): readings disturb each other"
    elif min(fact.cores for fact in facts) < cores_per_pair:
        note += ", and the two ends of a pair on one core: do not trust these readings"
    return [note]
