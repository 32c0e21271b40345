"""Progress reports of a call, for a caller's callback."""

from __future__ import annotations

from collections.abc import Callable

from plink.base.progress import OnProgress, Progress
from plink.base.text import rtt_text, share_text
from plink.solvers.search import SearchProgress


class CallbackProgress:
    """Progress listener of a probe that calls the user's callback."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._tell = on_progress or (lambda _: None)
        self._now = Progress("")

    def stage(self, name: str, total: int) -> None:
        """Report that a stage of `total` steps begins."""
        self._now = Progress(name, 0, total)
        self._tell(self._now)

    def step(self) -> None:
        """Report that a step of the current stage is done."""
        self._now = Progress(self._now.stage, self._now.done + 1, self._now.total)
        self._tell(self._now)

    def say(self, text: str) -> None:
        """Report a message to the user."""
        self._tell(Progress(text))


def stages(on_progress: OnProgress | None) -> Callable[[str], None] | None:
    """Return a function that reports the names of a call's stages to the user's callback."""
    if on_progress is None:
        return None
    return lambda stage: on_progress(Progress(stage))


def search(
    on_progress: OnProgress | None, time_limit_s: float
) -> Callable[[SearchProgress], None] | None:
    """Return a function that reports a search's state to the user's callback, 20 times a second."""
    if on_progress is None:
        return None

    def tell(found: SearchProgress) -> None:
        gap = max(0.0, found.cost - found.lower_bound)
        proven = f", gap {share_text(gap / found.cost)}" if found.lower_bound and found.cost else ""
        on_progress(Progress(f"cost {rtt_text(found.cost)}{proven}", found.seconds, time_limit_s))

    return tell
