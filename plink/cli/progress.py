"""Progress on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from plink.cli.stderr import fit, note

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from typing_extensions import Self


class StageProgress:
    """A bar with the time left for each stage of a long command, on standard error."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bars = _bars()
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        if self._bars is not None:
            if self._task is not None:
                self._bars.remove_task(self._task)
            self._task = self._bars.add_task(name, total=total)

    def step(self) -> None:
        """A step of the current stage is done."""
        if self._bars is not None and self._task is not None:
            self._bars.advance(self._task)

    def say(self, text: str) -> None:
        """A line for the user, above the bar."""
        if self._bars is not None:
            self._bars.console.print(f"note: {fit(text)}", markup=False, highlight=False)
        else:
            note(text)


def _bars() -> Progress:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
