"""A job's log on disk, from which `plink autotune replay` decides again."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from plink.autotune.log.records import LogWriter, Start
from plink.autotune.log.replay import ResumeState
from plink.autotune.tuner.interface import Decision, Window
from plink.autotune.tuner.snapshot import to_json
from plink.autotune.tuner.tuner import Tuner
from plink.base.errors import PlinkError, WrongUseError
from plink.formats.plan import Plan

# After so many windows the log has the tuner's state again.
_WINDOWS_A_STATE = 256


@contextmanager
def only_writer(path: str) -> Iterator[None]:
    """Keep a log for this daemon while the block runs, by a lock on `path.lock`.

    The log itself is renamed when it is full, so a lock on it would not last. The kernel ends the
    lock with the process; the empty file stays.

    Raises:
        WrongUseError: another daemon writes that log, or no file can be made there.
    """
    beside = f"{path}.lock"
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except (OSError, ValueError) as error:
        raise WrongUseError(f"{beside}: {getattr(error, 'strerror', None) or error}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrongUseError(
                f"{path}: another daemon writes this log", "give each daemon a log of its own"
            ) from None
        yield
    finally:
        os.close(descriptor)


class LogJournal:
    """Records every window and decision of one job, within a size.

    Args:
        path: of the log. Where tuning begins anew, so does the log; the old one is kept as `.1`.
            Where it goes on, so does the log.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._plan: Plan | None = None
        self._tuner: Tuner | None = None
        self._writer = LogWriter(path, None)
        self._since_state = 0
        self._unlogged = 0
        self._is_to_restart = False

    def begun(self, plan: Plan, decider: object) -> None:
        """Begin a log; only decisions of `Tuner` are logged.

        Raises:
            PlinkError: it cannot be written.
        """
        if not isinstance(decider, Tuner):
            return
        self._plan, self._tuner = plan, decider
        self._unlogged, self._is_to_restart = 0, True
        self._restart(Start(plan, decider.options))

    def resumed(self, state: ResumeState) -> None:
        """Go on with the log that stands there, without a last line that was cut.

        Raises:
            PlinkError: it cannot be written.
        """
        self._plan, self._tuner = state.plan, state.tuner
        self._since_state = _WINDOWS_A_STATE
        try:
            os.truncate(self._path, state.whole_bytes)
        except OSError as error:
            self._is_to_restart = True
            raise PlinkError(f"{self._path}: cannot be written: {error.strerror}") from None

    def decided(self, now_s: float, window: Window, decision: Decision) -> None:
        """Add an entry; where some before it could not be added, with how many those were.

        Raises:
            PlinkError: it cannot be written. The next one may be, when there is room again.
        """
        if self._tuner is None or self._plan is None:
            return
        if self._is_to_restart:
            self._restart(Start(self._plan, self._tuner.options, to_json(self._tuner)))
            return
        self._since_state += 1
        is_due = self._since_state >= _WINDOWS_A_STATE or self._unlogged
        state = to_json(self._tuner) if is_due else None
        self._unlogged += 1
        is_full = self._writer.write(now_s, window, decision, state, self._unlogged - 1)
        self._unlogged = 0
        if state is not None:
            self._since_state = 0
        if is_full:
            # If there is no room for a new log, the old one goes on.
            with suppress(PlinkError):
                self._restart(Start(self._plan, self._tuner.options, to_json(self._tuner)))

    def _restart(self, start: Start) -> None:
        self._writer.restart(start)
        self._since_state = self._unlogged = 0
        self._is_to_restart = False
