"""`plink` whose probe runs suffer faults by a script, beside them and not in them.

    python -m benchkit.programs.faulted_plink LAB SCRIPT plink-arguments ...

LAB is the name of a standing lab, SCRIPT what `labkit.faults.to_json` writes. The program ends with
plink's exit code, and says on standard error which faults had no occasion to happen, or could not
be brought about.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from labkit.faults import Injector, from_json
from plink import cli
from plink.measure.probing import tools
from plink.probes.reach import ReachedHost
from plink.probes.samples import MeasuringJob, PairLoss, Rounds, Wanted


class RoundsBegun:
    """A round begins for a host when nothing of its earlier rounds is open any more.

    Args:
        wanted: the directed pairs to measure.
        rounds: who meets whom in which round.
    """

    def __init__(self, wanted: Wanted, rounds: Rounds) -> None:
        self._number = {pair: number for number, pairs in enumerate(rounds) for pair in pairs}
        # Host to its rounds, each with the number of directions that are open.
        self._open: dict[int, dict[int, int]] = {}
        self._pending = set(wanted)
        for source, destination in wanted:
            for host in (source, destination):
                rounds_of = self._open.setdefault(host, {})
                number = self._number_of(source, destination)
                rounds_of[number] = rounds_of.get(number, 0) + 1

    def hosts(self) -> Iterable[int]:
        """The hosts that take part."""
        return self._open

    def begun(self, host: int) -> int:
        """The round that the host is in; one more than its last when it is done."""
        rounds_of = self._open[host]
        return min(rounds_of, default=1 + max(self._number.values()))

    def settle(self, source: int, destination: int) -> None:
        """A directed pair was read or given up."""
        if (source, destination) not in self._pending:
            return
        self._pending.remove((source, destination))
        number = self._number_of(source, destination)
        for host in (source, destination):
            self._open[host][number] -= 1
            if self._open[host][number] == 0:
                del self._open[host][number]

    def _number_of(self, source: int, destination: int) -> int:
        return self._number[min(source, destination), max(source, destination)]


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


def disturb_tools(injector: Injector) -> None:
    """Let faults happen while any tool measures."""
    measure = tools.measure

    def disturbed(job: MeasuringJob[Any], sink: Any) -> None:
        measure(job, ProgressSink(sink, injector, job.hosts, job.wanted, job.rounds))

    tools.measure = disturbed


def main() -> int:
    """Run plink, and undo every fault."""
    lab, script, *arguments = sys.argv[1:]
    with Injector(lab, from_json(script)) as injector:
        disturb_tools(injector)
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
