"""Decisions of the root: what is released when, in which batches, and what all are told."""

from __future__ import annotations

import math
from collections.abc import Callable

from plink.training.control.fusion import fuse_requests
from plink.training.control.pending import disagreement, missing_text
from plink.training.control.ranks import Ranks
from plink.training.control.requests import ALL_REDUCE, Request
from plink.training.control.settings import Settings
from plink.training.control.tree_messages import Downward, Member, Version, Waiting

# Seconds that the root waits for ranks to answer whether they have announced a stalled name. A rank
# that has not answered by then, such as a stopped process, is named as missing.
_ANSWER_TIMEOUT_S = 5.0


class Root:
    """Beside the machine of the rank that is the tree's root.

    Args:
        ranks: how many there are.
        member: how all ranks are told of a request that is being released.
        settings: of all.
    """

    def __init__(self, ranks: int, member: Callable[[Request], Member], settings: Settings) -> None:
        self._all = Ranks.below(ranks)
        self._member = member
        self._settings = settings
        self._ready: list[Request] = []
        self._ready_bytes = 0
        self._ready_since_s = math.inf
        self._under_way = 0
        # By name: when the root stops waiting for answers, and what the ranks have reported.
        self._stalled: dict[str, tuple[float, Waiting]] = {}
        self._joined = Ranks()
        self._last: int | None = None
        self._next = Downward()

    @property
    def wakes_s(self) -> float:
        """Return when the root has something to do next; infinity for never."""
        deadlines_s = [deadline_s for deadline_s, _ in self._stalled.values()]
        release_s = self._ready_since_s + self._settings.cycle_s
        return min([release_s, *deadlines_s])

    def settle(self, versions: tuple[Version, ...], now_s: float) -> None:
        """All ranks have announced a name. Where they do not agree, it is refused."""
        if len(versions) == 1:
            self.agree(versions[0].request, now_s)
            return
        for name in dict.fromkeys(version.request.name for version in versions):
            self.refuse(name, disagreement(versions))

    def agree(self, request: Request, now_s: float) -> None:
        """All ranks have announced just this. Where it cannot be, it is refused."""
        self._stalled.pop(request.name, None)
        if problem := join_problem(request, self._joined):
            self.refuse(request.name, problem)
            return
        if not self._ready:
            self._ready_since_s = now_s
        self._ready.append(request)
        self._ready_bytes += request.size_bytes

    def refuse(self, name: str, text: str) -> None:
        """Fail a request on all ranks that announced it."""
        self._stalled.pop(name, None)
        self._next.refused.append((name, text))

    def fail(self, text: str) -> None:
        """Fail all collectives of all ranks, with the text as their error."""
        self._next.failed = self._next.failed or text

    def join(self, ranks: Ranks) -> None:
        """Record joined ranks; the highest of those that joined at once counts as the last."""
        self._joined |= ranks
        if ranks:
            self._last = ranks.spans[-1][1]

    def hear_of(self, waiting: Waiting, now_s: float) -> bool:
        """Record a report or an answer about a stalled name; return whether the stall is new."""
        is_new = waiting.name not in self._stalled
        if is_new and not waiting.waited_ms:
            return False
        first = now_s + _ANSWER_TIMEOUT_S, waiting
        deadline_s, known = self._stalled.get(waiting.name, first)
        self._stalled[waiting.name] = (deadline_s, known.merge(waiting))
        return is_new

    def ask(self, waiting: Waiting) -> None:
        """Ask all ranks, with the next message, whether they have announced a stalled name."""
        self._next.stalled.append((waiting.name, waiting.waited_ms))

    def done(self, batches: int) -> None:
        """Record released batches that have ended here."""
        self._under_way = max(0, self._under_way - batches)

    def next_message(self, now_s: float) -> Downward | None:
        """Return the message to send to all ranks now; None without one."""
        self._tell_stalls(now_s)
        if self._is_time(now_s):
            self._release()
        if self._last is not None and not self._ready and not (self._all - self._joined):
            self._next.last = self._last
            self._joined, self._last = Ranks(), None
        if self._next.is_empty:
            return None
        told, self._next = self._next, Downward()
        return told

    def _is_time(self, now_s: float) -> bool:
        if not self._ready:
            return False
        return (
            not self._under_way
            or self._ready_bytes >= self._settings.fusion_bytes
            or now_s >= self._ready_since_s + self._settings.cycle_s
        )

    def _release(self) -> None:
        batches = fuse_requests(self._ready, self._settings.fusion_bytes)
        for batch in batches:
            self._next.batches.append(tuple(self._member(request) for request in batch))
        self._next.joined = bool(self._joined)
        self._under_way += len(batches)
        self._ready = []
        self._ready_bytes = 0
        self._ready_since_s = math.inf

    def _tell_stalls(self, now_s: float) -> None:
        for name, (deadline_s, waiting) in list(self._stalled.items()):
            missing = self._all - waiting.announced - self._joined
            if now_s < deadline_s and missing - waiting.answered:
                continue
            del self._stalled[name]
            waited_s = waiting.waited_ms / 1000.0
            if not missing:
                # The last of them is on its way.
                continue
            shown_s = (waiting.waited_ms + 50) // 100 / 10.0
            text = missing_text(name, shown_s, waiting.announced, missing)
            error_s = self._settings.stall_error_s
            if error_s is not None and waited_s >= error_s:
                self._next.refused.append((name, text))
            else:
                self._next.warnings.append(text)


def join_problem(request: Request, joined: Ranks) -> str:
    """Why a request cannot be while these ranks have joined, for people; empty where it can."""
    if not joined or request.kind == ALL_REDUCE:
        return ""
    return (
        f"'{request.name}' is of the kind {request.kind}, which cannot be while "
        f"{joined} joined: only an all-reduce can"
    )
