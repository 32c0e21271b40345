"""Which agents were asked whether they live, and for how long they have not answered. Pure."""

from __future__ import annotations


class Liveness:
    """Who has to answer until when.

    Times are seconds of a clock that never goes back.

    Args:
        answer_within_s: an agent answers at once, but its host or ours may be very busy.
        doubted_answer_within_s: the same for a host that was silent to another.
    """

    def __init__(self, answer_within_s: float, doubted_answer_within_s: float) -> None:
        self._answer_within_s = answer_within_s
        self._doubted_answer_within_s = doubted_answer_within_s
        self._asked_at: dict[int, float] = {}
        self._doubted: set[int] = set()

    @property
    def unanswered(self) -> set[int]:
        """The agents that owe an answer."""
        return set(self._asked_at)

    def ask(self, index: int, now: float, *, doubted: bool = False) -> bool:
        """Note that an agent has to answer; False if it was asked before and owes that answer."""
        if doubted:
            self._doubted.add(index)
        return self._asked_at.setdefault(index, now) == now

    def settled(self, index: int) -> None:
        """An agent said something, whatever it was, or is lost: it owes no answer any more."""
        self._asked_at.pop(index, None)
        self._doubted.discard(index)

    def forget(self) -> None:
        """Nobody could be heard for a while: what is owed is owed no more."""
        self._asked_at.clear()
        self._doubted.clear()

    def doubts_end_at(self) -> float:
        """When the first doubted agent will be overdue; infinite where there is none."""
        due = (self._asked_at[index] + self._doubted_answer_within_s for index in self._doubted)
        return min(due, default=float("inf"))

    def overdue(self, now: float) -> list[tuple[int, float]]:
        """Those that have not answered in time, each with the seconds that it had."""
        return [
            (index, self._limit_s(index))
            for index, asked_at in sorted(self._asked_at.items())
            if now - asked_at > self._limit_s(index)
        ]

    def _limit_s(self, index: int) -> float:
        is_doubted = index in self._doubted
        return self._doubted_answer_within_s if is_doubted else self._answer_within_s
