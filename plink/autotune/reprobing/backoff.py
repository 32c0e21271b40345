"""When hosts may be probed again. Without I/O and clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FIRST_PAUSE_S = 120.0
LONGEST_PAUSE_S = 3600.0


@dataclass(frozen=True)
class _Pause:
    until_s: float
    length_s: float


class BackOff:
    """Leaves hosts alone that were probed without effect: 2 minutes, then 4, up to an hour."""

    def __init__(self) -> None:
        self._pauses: dict[str, _Pause] = {}

    def due(self, now_s: float, hosts: Iterable[str]) -> Sequence[str]:
        """Return the hosts that may be probed now."""
        known = self._pauses
        return [host for host in hosts if host not in known or known[host].until_s <= now_s]

    def wait_s(self, now_s: float, hosts: Iterable[str]) -> float:
        """Return in how many seconds the first of the hosts may be probed; at least one host."""
        untils_s = [self._pauses[host].until_s for host in hosts if host in self._pauses]
        return max(0.0, min(untils_s, default=now_s) - now_s)

    def record_failure(self, now_s: float, hosts: Iterable[str]) -> float:
        """Probing these changed nothing; for how many seconds the last of them is left alone."""
        longest_s = 0.0
        for host in hosts:
            before = self._pauses.get(host)
            length_s = FIRST_PAUSE_S if before is None else 2.0 * before.length_s
            length_s = min(length_s, LONGEST_PAUSE_S)
            self._pauses[host] = _Pause(now_s + length_s, length_s)
            longest_s = max(longest_s, length_s)
        return longest_s

    def record_success(self, now_s: float, hosts: Iterable[str]) -> None:
        """Restart the pauses from the shortest, because probing found a change."""
        for host in hosts:
            self._pauses[host] = _Pause(now_s + FIRST_PAUSE_S, FIRST_PAUSE_S / 2.0)
