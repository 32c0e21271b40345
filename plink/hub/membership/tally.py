"""What several event loops or servers report, put together to what membership wants to hear."""

from __future__ import annotations

from plink.hub.membership.events import Pushed


class Tally:
    """Reports of so many sources, each of which has a part of the chunks.

    Args:
        sources: numbered from 0: the loops of a server, or the servers of a service.

    Each report counts once, and what is put together is told once.
    """

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._pushed: dict[Pushed, set[int]] = {}
        self._cut: dict[tuple[int, int], set[int]] = {}

    def pushed(self, source: int, report: Pushed) -> bool:
        """Whether all sources have now reported the same contribution under the same revision."""
        return self._count(self._pushed.setdefault(report, set()), source)

    def cut(self, source: int, worker: int, incarnation: int) -> bool:
        """Whether now no source takes chunks of that incarnation any more.

        A source says so behind all its other reports of that worker: only then is it known what
        the worker has pushed whole, and may it be called lost.
        """
        return self._count(self._cut.setdefault((worker, incarnation), set()), source)

    def forget_before(self, iteration: int) -> None:
        """Keep nothing of iterations that are complete."""
        old = [report for report in self._pushed if report.iteration < iteration]
        for report in old:
            del self._pushed[report]

    def forget_cut(self, worker: int) -> None:
        """A worker's place is taken anew: what was cut before is of no interest."""
        for known in [known for known in self._cut if known[0] == worker]:
            del self._cut[known]

    def _count(self, there: set[int], source: int) -> bool:
        before = len(there)
        there.add(source)
        return len(there) == self._sources and len(there) > before
