"""`plink` whose probe runs suffer faults by a script, beside them and not in them.

    python scripts/benchkit/faulted.py LAB SCRIPT plink-arguments ...

LAB is the name of a standing lab, SCRIPT what `labkit.faults.to_json` writes. The program ends with
plink's exit code, and says on standard error which faults had no occasion to happen, or could not
be brought about.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

# A program of its own, so that it can be started, interrupted and killed as plink is.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchkit.rounds import RoundsBegun  # noqa: E402
from labkit.faults import Injector, from_json  # noqa: E402
from plink import cli  # noqa: E402
from plink.measure.probing.tools import TOOLS  # noqa: E402
from plink.measure.probing.tools.base import Job, Measure  # noqa: E402
from probes.reach import ReachedHost  # noqa: E402
from probes.samples import PairLoss, Rounds, Wanted  # noqa: E402


class ProgressSink:
    """Hands on what a tool reports, and tells the injector which round begins for whom."""

    def __init__(
        self,
        sink: Any,
        injector: Injector,
        hosts: Sequence[ReachedHost],
        wanted: Wanted,
        rounds: Rounds,
    ) -> None:
        self._sink = sink
        self._injector = injector
        self._hosts = hosts
        self._begun = RoundsBegun(wanted, rounds)
        for host in self._begun.hosts():
            self._tell(host)

    def reading(self, reading: Any) -> None:
        """A direction of a pair was measured."""
        self._sink.reading(reading)
        self._settle(reading.source, reading.destination)

    def pair_lost(self, loss: PairLoss) -> None:
        """A direction of a pair was given up."""
        self._sink.pair_lost(loss)
        self._settle(loss.source, loss.destination)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a tool may say."""
        return getattr(self._sink, name)

    def _settle(self, source: int, destination: int) -> None:
        self._begun.settle(source, destination)
        self._tell(source)
        self._tell(destination)

    def _tell(self, host: int) -> None:
        self._injector.reach(self._hosts[host].name, self._begun.begun(host))


def with_faults(measure: Measure, injector: Injector) -> Measure:
    """The same measuring, disturbed."""

    def disturbed(job: Job[Any], sink: Any) -> None:
        measure(job, ProgressSink(sink, injector, job.hosts, job.wanted, job.rounds))

    return disturbed


def main() -> int:
    """Run plink, and undo every fault."""
    lab, script, *arguments = sys.argv[1:]
    with Injector(lab, from_json(script)) as injector:
        for name, tool in TOOLS.items():
            if tool.measure is not None:
                TOOLS[name] = replace(tool, measure=with_faults(tool.measure, injector))
        try:
            code = cli.run(arguments)
        finally:
            for fault in injector.waiting:
                print(f"fault not reached: {fault}", file=sys.stderr)
    for fault, error in injector.failed:
        print(f"fault failed: {fault}: {error!r}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
