"""Progress on standard error: a bar on a terminal, otherwise occasional lines."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from plink.base.lazy import lazy_imports
from plink.base.progress import OnProgress, Progress, ProgressListener
from plink.base.text import printable
from plink.cli.stderr import console, note

with lazy_imports():
    from rich import console as rich_console
    from rich import progress as rich_progress

# How often there is a line where standard error is no terminal.
_S_A_LINE = 8.0


@contextmanager
def status_line(format_progress: Callable[[Progress], str] = str) -> Iterator[OnProgress | None]:
    """Show the progress of a computation in one line, on a terminal only.

    Yields:
        what to call with each report; None where standard error is no terminal.
    """
    stderr = console()
    if not stderr.is_terminal:
        yield None
        return
    with stderr.status("") as status:
        yield lambda progress: status.update(format_progress(progress))


@contextmanager
def stage_progress() -> Iterator[ProgressListener]:
    """Show the stages of a long command: a bar on a terminal, else a line every few seconds.

    Yields:
        what is to be told of stages and steps.
    """
    shown = _Bars() if sys.stderr.isatty() else _Lines()
    shown.start()
    try:
        yield shown
    finally:
        shown.stop()


class _Bars:
    """Progress bar for each stage, with the remaining time."""

    def __init__(self) -> None:
        self._bars = rich_progress.Progress(
            rich_progress.TextColumn("{task.description:>10}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeRemainingColumn(),
            console=rich_console.Console(stderr=True),
            transient=True,
        )
        self.start, self.stop = self._bars.start, self._bars.stop

    def stage(self, name: str, total: int) -> None:
        for task in self._bars.task_ids:
            self._bars.remove_task(task)
        self._bars.add_task(name, total=total)

    def step(self) -> None:
        for task in self._bars.task_ids:
            self._bars.advance(task)

    def say(self, text: str) -> None:
        self._bars.console.print(f"note: {printable(text)}", markup=False, highlight=False)


class _Lines(threading.Thread):
    """Thread that prints every few seconds how many steps of the stage are done."""

    def __init__(self) -> None:
        super().__init__(name="progress", daemon=True)
        self._has_ended = threading.Event()
        # Replaced as a whole, so that what is said is of one stage.
        self._stage: tuple[str, int, float] | None = None
        self._done = 0

    def run(self) -> None:
        while not self._has_ended.wait(_S_A_LINE):
            if self._stage is not None:
                name, total, began_s = self._stage
                took_s = time.monotonic() - began_s
                click.echo(f"{name}: {self._done} of {total} after {took_s:.0f} s", err=True)

    def stage(self, name: str, total: int) -> None:
        self._done = 0
        self._stage = (name, total, time.monotonic())

    def step(self) -> None:
        self._done += 1

    def say(self, text: str) -> None:
        note(text)

    def stop(self) -> None:
        self._has_ended.set()
        # Whoever does not read what is said here holds up nothing.
        self.join(timeout=1.0)
