"""The log of a tuned job: what was measured and what was decided, a line of JSON each time.

The first line says format and version, the job's plan and the tuner's options; where the log was
cut, also the state that the tuner had there. Every other line is a window of measurements and the
decision that followed. So the log can be replayed, and gives the same decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from plink.autotune.tuner.interface import Action, Decision, TunerOptions, Window
from plink.autotune.tuner.snapshot import PlanNumber, WindowRecord, masters_to_json
from plink.base.errors import PlinkError, WrongUseError
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.limits import Amount, Text, Whole
from plink.formats.plan import Plan
from plink.formats.structs import FormatError, convert, encode

FORMAT: Final = "plink.autotune"
VERSION: Final = 1

DEFAULT_MAX_BYTES = 64 << 20

_MAX_NUMBER = 1e15


class Start(Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a log.

    Attributes:
        plan: plan that the job came with
        options: options of the tuner
        state: state of the tuner, private to it; absent at the beginning of the job
        format: name of the format
        version: version of the format
    """

    plan: Plan
    options: TunerOptions
    state: Mapping[str, Any] | None = None
    format: Literal["plink.autotune"] = FORMAT
    version: Literal[1] = VERSION


class MastersRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """Shares of masters in a new plan.

    Attributes:
        of_groups: share of the buffer with masters in each group
        of_hosts: each host's share of its group's
    """

    of_groups: Sequence[Amount]
    of_hosts: Sequence[Amount]


class DecisionRecord(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Decision of the tuner.

    Attributes:
        action: what was done
        reason: why, in words
        plan: number of the plan in force from then on
        hosts: indices of the hosts to probe again
        masters: where the masters of a new plan are
    """

    action: Action
    reason: Text
    plan: PlanNumber
    hosts: Sequence[Whole] = []
    masters: MastersRecord | None = None


class EntryLine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Any other line of a log.

    Attributes:
        now_s: the daemon's clock, in s since 1970; it may be wrong, and before 1970
        window: what was measured
        decision: what was decided
        state: state of the tuner, private to it
        unlogged: number of windows before it that could not be written; then there is a state
    """

    now_s: Annotated[float, Meta(ge=-_MAX_NUMBER, le=_MAX_NUMBER)]
    window: WindowRecord
    decision: DecisionRecord
    state: Mapping[str, Any] | None = None
    unlogged: Annotated[int, Meta(ge=0, le=1 << 53)] = 0

    def __post_init__(self) -> None:
        if self.unlogged and self.state is None:
            raise ValueError(f"has no state, after {self.unlogged} windows that are not there")


_STATE_AFTER_A_GAP = {
    "if": {"properties": {"unlogged": {"minimum": 1}}, "required": ["unlogged"]},
    "then": {"required": ["state"], "properties": {"state": {"type": "object"}}},
}
Line = Annotated[EntryLine, Meta(extra_json_schema=_STATE_AFTER_A_GAP)]


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
        masters = MastersRecord(**masters_to_json(decision.masters)) if decision.forest else None
        decided = DecisionRecord(
            decision.action, decision.reason, decision.plan, list(decision.hosts), masters
        )
        line = EntryLine(now_s, WindowRecord.of(window), decided, state, unlogged)
        text = _line(msgspec.to_builtins(line, enc_hook=float))
        try:
            return _append(self._path, text) > self._max_bytes // 2
        except OSError as error:
            raise PlinkError(f"{self._path}: cannot be written: {error.strerror}") from None

    def restart(self, start: Start) -> None:
        """Go on in a new file, from the state that the tuner has now.

        Raises:
            PlinkError: the log cannot be written.
        """
        # Where there is no room for the new log, the old one goes on.
        new = f"{self._path}.new"
        document.write_bytes(new, _line(encode(start)))
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
    hosts = max(start.plan.host_by_rank) + 1
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
        yield _parse_entry(convert(document.parse(line, place), EntryLine, place), hosts, place)


def _parse_entry(line: EntryLine, hosts: int, place: str) -> Entry:
    try:
        window = line.window.to_window(hosts)
    except ValueError as error:
        raise FormatError(place, "window", f"is not a window of {hosts} hosts ({error})") from None
    decision = line.decision
    return Entry(
        line.now_s,
        window,
        decision.action,
        decision.reason,
        decision.plan,
        line.state,
        line.unlogged,
    )


def _parse_start(data: Mapping[str, Any], source: str) -> Start:
    document.check_format(data, source, FORMAT, VERSION)
    if isinstance(plan := data.get("plan"), dict):
        document.check_format(plan, f"{source}: plan", plan_file.FORMAT, plan_file.VERSION)
    start = convert(data, Start, source)
    plan_file.refuse_servers(start.plan, f"{source}: plan")
    return start


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + b"\n"
