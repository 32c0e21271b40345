"""Traces in files: one of GOAL's text, or one of Chakra's for every rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from plink.base.errors import WrongUseError
from plink.base.text import format_count
from plink.formats import document
from plink.simulate.schedule import BrokenScheduleError, Schedule, check
from plink.simulate.traces import chakra, goal
from plink.simulate.traces.groups import GROUPS_FILE, Members, parse_groups

FORMATS = ("goal", "chakra")

_RANK = re.compile(r"(?P<name>.*)\.(?P<rank>\d{1,6})\.et", re.DOTALL)
_MAX_BYTES = 1 << 31


def names_of(format_name: str, output: str, ranks: int) -> list[str]:
    """Return the files that a trace goes to: `NAME.0.et`, `NAME.1.et`, ... for Chakra's."""
    if format_name == "goal":
        return [output]
    name = output.removesuffix(".et")
    return [f"{name}.{rank}.et" for rank in range(ranks)]


def write(format_name: str, output: str, schedule: Schedule) -> list[str]:
    """Write a trace; return the names of its files.

    Raises:
        PlinkError: a file cannot be written.
        WrongUseError: several files would go to standard output, or beside those of more ranks.
    """
    names = names_of(format_name, output, schedule.ranks)
    if format_name == "goal":
        document.write_bytes(output, goal.to_text(schedule).encode())
        return names
    if output == document.STANDARD_STREAM:
        raise WrongUseError(
            "Chakra's traces are a file for every rank", "give their name with -o: -o trace.et"
        )
    beyond = f"{output.removesuffix('.et')}.{schedule.ranks}.et"
    if _exists(beyond):
        # Whoever reads the trace would take it for one of more ranks.
        raise WrongUseError(
            f"{document.label(beyond)}: is there, of a trace with more than "
            f"{format_count(schedule.ranks, 'rank')}",
            "remove that trace, or give this one another name",
        )
    for name, content in zip(names, chakra.files_of(schedule), strict=True):
        document.write_bytes(name, content)
    return names


def is_trace(path: str) -> bool:
    """Return whether a path means a trace: Chakra's by its name, GOAL's by how it begins."""
    if _RANK.fullmatch(path) or path.endswith(".et") or _exists(f"{path}.0.et"):
        return True
    try:
        # What can be read but once is left to whoever reads it.
        if not Path(path).is_file():
            return False
        with Path(path).open("rb") as stream:
            return goal.is_goal(stream.read(65_536))
    except (OSError, ValueError):
        return False


def read(path: str) -> Schedule:
    """The schedule in a file, or in Chakra's files: of one of them, or of `NAME` or `NAME.et`.

    Raises:
        WrongUseError: no trace, or one that cannot end.
    """
    names = _of_all_ranks(path)
    if names:
        contents = [_content(name) for name in names]
        found = chakra.parse(contents, names, _groups_beside(names))
        source = names[0]
    else:
        content = _content(path)
        source = document.label(path)
        if not goal.is_goal(content):
            raise WrongUseError(
                f"{source}: is no trace",
                "traces are GOAL's text, or Chakra's files NAME.0.et, NAME.1.et, ...",
            )
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise WrongUseError(f"{source}: is not UTF-8") from None
        found = goal.parse(text, source)
    try:
        check(found)
    except BrokenScheduleError as error:
        raise WrongUseError(f"{source}: {error}") from None
    return found


def _of_all_ranks(path: str) -> list[str]:
    """Return the files of Chakra's ranks, where a path means such; else nothing."""
    if path == document.STANDARD_STREAM:
        return []
    found = _RANK.fullmatch(path)
    name = found["name"] if found else path.removesuffix(".et")
    if not found and (_exists(path) or not _exists(f"{name}.0.et")):
        return []
    names: list[str] = []
    while len(names) <= goal.MAX_RANKS and _exists(f"{name}.{len(names)}.et"):
        names.append(f"{name}.{len(names)}.et")
    if not names:
        raise WrongUseError(
            f"{document.label(path)}: there is no {name}.0.et beside it",
            "a trace of Chakra's has a file for every rank, from 0 on",
        )
    return names


def _groups_beside(names: Sequence[str]) -> Mapping[str, Members]:
    """ASTRA-sim's file of process groups beside a trace: `NAME.comm_group.json`, or one for all."""
    own = f"{names[0].removesuffix('.0.et')}.{GROUPS_FILE}"
    path = next((p for p in (own, str(Path(names[0]).with_name(GROUPS_FILE))) if _exists(p)), None)
    if path is None:
        return {}
    source = document.label(path)
    return parse_groups(document.parse(document.read_bytes(path), source), len(names), source)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no name that a file can have
        return False


def _content(path: str) -> bytes:
    content = document.read_bytes(path)
    if len(content) > _MAX_BYTES:
        raise WrongUseError(f"{document.label(path)}: is larger than {_MAX_BYTES >> 30} GiB")
    return bytes(content)
