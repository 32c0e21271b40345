"""Jobs for the measuring tools, between all pairs of some hosts unless told otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plink.probes.options import EchoOptions, Options
from plink.probes.reach import ReachedHost
from plink.probes.rounds import round_robin
from plink.probes.samples import MeasuringJob
from support.pairs import all_pairs


def job_of(
    options: Options, hosts: Sequence[ReachedHost], concurrency: int, **more: Any
) -> MeasuringJob[Options]:
    size = len(hosts)
    given = {"wanted": all_pairs(size), "rounds": round_robin(size), "timeout_s": 0.5, **more}
    return MeasuringJob(hosts=hosts, options=options, concurrency=concurrency, **given)


def echo_job(
    hosts: Sequence[ReachedHost], concurrency: int, *, count: int = 40, **more: Any
) -> MeasuringJob[EchoOptions]:
    return job_of(EchoOptions(count=count), hosts, concurrency, **more)
