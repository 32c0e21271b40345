"""The log of a tuned job: what was measured and what was decided, a line of JSON each time.

The first line says format and version, the job's plan and the tuner's options; where the log was
cut, also the state that the tuner had there. Every other line is a window of measurements and the
decision that followed. So the log can be replayed, and gives the same decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from plink.autotune.tuner.interface import Action, Decision, TunerOptions, Window
from plink.autotune.tuner.snapshot import masters_to_json, window_from_json, window_to_json
from plink.base.errors import PlinkError, WrongUseError
from plink.files import document
from plink.files import plan as plan_file
from plink.files.fields import Fields
from plink.files.plan import Plan

FORMAT = "plink.autotune"
VERSION = 1

DEFAULT_MAX_BYTES = 64 << 20

_MAX_NUMBER = 1e15


@dataclass(frozen=True)
class Start:
    """First record of a log.

    Args:
        plan: that the job came with.
        options: of the tuner.
        state: that the tuner had (`plink.autotune.tuner.snapshot`); None at the job's beginning.
    """

    plan: Plan
    options: TunerOptions
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Entry:
    """A window, and what was decided then.

    Args:
        now_s: when.
        window: what was measured.
        action, reason, plan: of the decision.
        state: that the tuner had then; None where the log does not say.
        unlogged: windows before this one that the log lacks, because the disk was full; where
            there are some, there is a state.
    """

    now_s: float
    window: Window
    action: Action
    reason: str
    plan: int
    state: Mapping[str, Any] | None = None
    unlogged: int = 0


class LogWriter:
    """Writes a log that stays within a size.

    When half of it is full, the log goes on in a new file and the old one is kept under the same
    name with `.1`, in place of an older one.

    Args:
        path: of the log.
        start: what it begins with, and what stands there is kept as `.1`; None where that goes on.
        max_bytes: of both files together, about.

    Raises:
        PlinkError: the log cannot be written.
    """

    def __init__(self, path: str, start: Start | None, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._path = Path(path)
        self._max_bytes = max_bytes
        if start is not None:
            self.restart(start)

    def write(
        self,
        now_s: float,
        window: Window,
        decision: Decision,
        state: Mapping[str, Any] | None = None,
        unlogged: int = 0,
    ) -> bool:
        """Add an entry, whole or not at all; whether the log is full, and `restart` to follow.

        Args:
            now_s: when.
            window: what was measured.
            decision: that followed.
            state: of the tuner after it; now and then, so that not all has to be decided again.
            unlogged: windows before it that could not be added.

        Raises:
            PlinkError: the log cannot be written.
        """
        made = {"masters": masters_to_json(decision.masters)} if decision.forest else {}
        decided = {
            "action": decision.action.value,
            "reason": decision.reason,
            "plan": decision.plan,
            **({"hosts": list(decision.hosts)} if decision.hosts else {}),
            **made,
        }
        line = {"now_s": now_s, "window": window_to_json(window), "decision": decided}
        if state is not None:
            line["state"] = state
        if unlogged:
            line["unlogged"] = unlogged
        try:
            return _append(self._path, _line(line)) > self._max_bytes // 2
        except OSError as error:
            raise PlinkError(f"{self._path}: cannot be written: {error.strerror}") from None

    def restart(self, start: Start) -> None:
        """Go on in a new file, from the state that the tuner has now.

        Raises:
            PlinkError: the log cannot be written.
        """
        # Where there is no room for the new log, the old one goes on.
        new = f"{self._path}.new"
        document.write_bytes(new, _line(_start_to_json(start)))
        try:
            if self._path.exists():
                self._path.replace(f"{self._path}.1")
            Path(new).replace(self._path)
        except OSError as error:
            raise PlinkError(f"{self._path}: cannot be renamed: {error.strerror}") from None


def _append(path: Path, line: bytes) -> int:
    """Add a line, and return the file's size. A part of a line is taken back.

    Raises:
        OSError: there is no room for it.
    """
    with path.open("ab", buffering=0) as stream:
        before = stream.tell()
        written = 0
        try:
            while written < len(line):
                written += stream.write(line[written:])
        finally:
            if written < len(line):
                stream.truncate(before)
        return before + written


def read(path: str) -> tuple[Start, Iterator[Entry]]:
    """The beginning of a log, and its entries one by one; a last line that was cut is left out.

    Raises:
        WrongUseError: not a log, at once; or an entry is not valid, when it is reached.
    """
    return parse(document.read_bytes(path), document.label(path))


def is_log(content: bytes) -> bool:
    """Return whether a file's content begins as a log does, whichever version it is of."""
    line = content.split(b"\n", 1)[0]
    if FORMAT.encode() not in line:
        return False
    try:
        return document.parse(line, "").get("format") == FORMAT
    except WrongUseError:
        return False


def parse(content: bytes, source: str) -> tuple[Start, Iterator[Entry]]:
    """`read`, of a file's content; `source` is what messages call it.

    Raises:
        WrongUseError: not a log, at once; or an entry is not valid, when it is reached.
    """
    lines = content.split(b"\n")
    start = _parse_start(_first_line(content, lines[0], source), source)
    hosts = max(start.plan.host_of) + 1
    return start, _entries(lines[1:], hosts, source)


def _first_line(content: bytes, line: bytes, source: str) -> dict[str, Any]:
    try:
        return document.parse(line, source)
    except WrongUseError as error:
        try:
            # A file of another kind, whose JSON has several lines, is to be called what it is.
            return document.parse(content, source)
        except WrongUseError:
            raise error from None


def _entries(lines: list[bytes], hosts: int, source: str) -> Iterator[Entry]:
    # What follows the last line break was being written when the daemon ended.
    for number, line in enumerate(lines[:-1], 2):
        place = f"{source}: line {number}"
        yield _parse_entry(Fields(document.parse(line, place), place), hosts)


def _parse_entry(entry: Fields, hosts: int) -> Entry:
    window, decision = entry.object("window"), entry.object("decision")
    action = decision.text("action")
    if action not in {each.value for each in Action}:
        raise decision.error("action", f"one of {', '.join(each.value for each in Action)}")
    try:
        measured = window_from_json(dict(window.values), hosts)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise WrongUseError(f"{window.place}: not a window of {hosts} hosts ({error})") from None
    state = entry.optional_object("state")
    unlogged = entry.integer("unlogged", 0, 1 << 53, 0)
    if unlogged and state is None:
        raise entry.error("state", f"an object, after {unlogged} windows that are not there")
    return Entry(
        # A host without a battery may believe that it is before 1970.
        entry.number("now_s", -_MAX_NUMBER, _MAX_NUMBER),
        measured,
        Action(action),
        decision.text("reason"),
        decision.integer("plan", 0, 1 << 53),
        None if state is None else state.values,
        unlogged,
    )


def _start_to_json(start: Start) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "plan": plan_file.encode_plan(start.plan),
        "options": asdict(start.options),
        **({} if start.state is None else {"state": start.state}),
    }


def _parse_start(data: Mapping[str, Any], source: str) -> Start:
    document.check_format(data, source, FORMAT, VERSION)
    start = Fields(data, source)
    plan = plan_file.decode_plan(start.object("plan").values, f"{source}: plan")
    state = start.optional_object("state")
    return Start(
        plan, _parse_options(start.object("options")), None if state is None else state.values
    )


def _parse_options(options: Fields) -> TunerOptions:
    values: dict[str, Any] = {}
    for field in fields(TunerOptions):
        if isinstance(field.default, int):
            values[field.name] = options.integer(field.name, 1, 1000)
        else:
            values[field.name] = options.number(field.name, 0.0, 1e9)
    return TunerOptions(**values)


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + b"\n"
