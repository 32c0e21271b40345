"""On which processors the two ends of a meeting run, where they share a machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from probes.facts import HostFacts


class Placement:
    """Where two hosts meet.

    A reading would else depend on whether the scheduler puts the two ends together or apart.

    Args:
        facts: of the hosts, in index order.
        cores_per_pair: how many cores the two ends of a pair take.
        is_free: hosts meet at their own pace, and so where they like.
    """

    def __init__(self, facts: Sequence[HostFacts], cores_per_pair: int, *, is_free: bool) -> None:
        self._machines = [fact.machine for fact in facts]
        self._processors = min((fact.cores for fact in facts), default=1)
        self._cores_per_pair = cores_per_pair
        self._is_free = is_free

    def processors(self, slot: int, leader: int, follower: int) -> tuple[int | None, int | None]:
        """The processors of leader and follower in that place among the meetings of a moment.

        From the last processor on: the first serves most of the machine's interrupts. With one core
        per pair both ends get the same; with two they differ where there are two. None where it
        does not matter.
        """
        if not self._is_placed(leader, follower):
            return None, None
        last = self._processors - 1
        first = slot * self._cores_per_pair
        second = first + self._cores_per_pair - 1
        return last - second % self._processors, last - first % self._processors

    def share_processor(self, one: int, other: int) -> bool:
        """Whether the two meet on one processor."""
        return self._is_placed(one, other) and min(self._cores_per_pair, self._processors) == 1

    def _is_placed(self, one: int, other: int) -> bool:
        machines = {self._machines[end] for end in (one, other)}
        return not self._is_free and len(machines) == 1 and machines != {""}
