"""How many pairs may meet at once, by how much they disturb each other. Pure."""

from __future__ import annotations

# So many meetings, or twice those in flight, tell how it goes.
_FEWEST = 8
# Where more of them are disturbed than that, fewer pairs may meet at once.
_TOO_MANY = 0.5
# It is the pairs themselves if half of them at once brings the share below so much of what it was.
_RELIEF = 0.5


class Pace:
    """Goes down from the number of pairs that the hosts' facts allow.

    Other work disturbs few pairs as much as many: where fewer at once brings no relief, the number
    goes back to what it was, and stays.

    Args:
        most: pairs in flight at the beginning.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._seen: list[bool] = []
        self._before: tuple[int, float] | None = None
        self._is_settled = most == 1

    def meeting(self, *, is_disturbed: bool) -> str | None:
        """Take note of a meeting; what changed by it, in words, or None."""
        if self._is_settled:
            return None
        self._seen.append(is_disturbed)
        if len(self._seen) < max(_FEWEST, 2 * self.most):
            return None
        share = sum(self._seen) / len(self._seen)
        self._seen = []
        if self._before is not None and share > _RELIEF * self._before[1]:
            self.most, self._is_settled = self._before[0], True
            return f"{self.most} pairs at a time again: fewer were disturbed as much"
        if share <= _TOO_MANY or self.most == 1:
            self._before = None
            return None
        self._before = (self.most, share)
        self.most //= 2
        pairs = "1 pair" if self.most == 1 else f"{self.most} pairs"
        return f"{pairs} at a time from here on: {self._before[0]} disturbed each other"
