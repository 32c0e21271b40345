"""Hosts in launchers' files with ranks, such as Open MPI's rankfiles and torchrun commands. Pure.

- Open MPI's rankfile: `rank 0=host slot=0:*`.
- A line for each rank with its environment (`host RANK=0 ...`, `host JAX_PROCESS_ID=0 ...`).
- A torchrun command for each host, or a script that runs them (`on host '... torchrun ...'`).
- A script that pins pods to nodes (`pin "labels" node`), which knows nothing of slots.
- LightGBM's machine list: `address port` for each rank.

They are those that plink writes (`plink.deploy.launchers`), and those that people write alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.errors import HostListError, clean
from plink.probes.hosts import hostlist
from plink.probes.hosts.address import is_address

_RANK = re.compile(r"rank\s+([0-9]{1,9})\s*=\s*([^\s=]+)(?:\s+slots?\s*=\s*\S.*)?", re.IGNORECASE)
_RANKFILE = re.compile(r"rank\s+[0-9]+\s*=", re.IGNORECASE)
_RANK_VARIABLES = ("RANK=", "JAX_PROCESS_ID=")
_PER_HOST = ("--nproc-per-node=", "--nproc_per_node=")
_HINT_RANKS = "the file must have each rank from 0 on exactly once"


@dataclass(frozen=True)
class _Entry:
    """Line of a launcher's file: a host, the first of its consecutive ranks, and its slots."""

    host: str
    rank: int | None = None
    slots: int = 1


def parse_launcher_file(text: str, source: str) -> list[hostlist.ListedHost] | None:
    """Return the hosts of a rankfile or another launcher's file, by rank; None for other text.

    Raises:
        HostListError: a line is not understood, a rank is missing or comes twice, ...
    """
    lines = [
        (f"{source}:{number}", line.strip())
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1)
    ]
    is_script = lines[0][1].startswith("#!")
    filled = [(place, line) for place, line in lines if line and not line.startswith("#")]
    if is_script:
        calls = [(place, line) for place, line in filled if _script_line(line) is not None]
        return _parse_lines(calls, _script_line, source) if calls else None
    if not filled:
        return None
    for read in (_rankfile_line, _environment_line, _torchrun_line):
        if read(filled[0][1]) is not None or (
            read is _rankfile_line and _RANKFILE.match(filled[0][1])
        ):
            return _parse_lines(filled, read, source)
    if all(_machine_line(line) is not None for _, line in filled):
        return _parse_lines(filled, _machine_line, source)
    return None


def _parse_lines(
    lines: list[tuple[str, str]], read: Callable[[str], _Entry | None], source: str
) -> list[hostlist.ListedHost]:
    entries: list[tuple[_Entry, str]] = []
    seen: dict[int, str] = {}
    for place, line in lines:
        entry = read(line)
        if entry is None:
            raise HostListError(f"{place}: {clean(line[:60])!r} is no line of such a launcher file")
        if entry.rank is not None and seen.setdefault(entry.rank, place) != place:
            raise HostListError(
                f"{place}: rank {entry.rank} is already assigned at {seen[entry.rank]}", _HINT_RANKS
            )
        entries.append((entry, place))
        if len(entries) > hostlist.MAX_NAMES * 16:
            raise HostListError(
                f"{place}: the file has more than {hostlist.MAX_NAMES * 16:,} lines of ranks"
            )
    missing = next((rank for rank in range(len(seen)) if rank not in seen), None)
    if missing is not None:
        raise HostListError(f"{source}: rank {missing} is missing", _HINT_RANKS)
    entries.sort(key=lambda placed: placed[0].rank or 0)
    hosts = [
        hostlist.ListedHost(entry.host, slots=entry.slots, place=place) for entry, place in entries
    ]
    return hostlist.check_hosts(hostlist.merge_ranks(hosts), source)


def _rankfile_line(line: str) -> _Entry | None:
    match = _RANK.fullmatch(line.partition("#")[0].rstrip())
    return None if match is None else _Entry(match[2], int(match[1]))


def _find_number(words: list[str], keys: tuple[str, ...]) -> int | None:
    """Return the number after `=` in the only word that begins with one of these keys."""
    values = [word.partition("=")[2] for word in words if word.startswith(keys)]
    is_number = len(values) == 1 and re.fullmatch(r"[0-9]{1,9}", values[0])
    return int(values[0]) if is_number else None


def _environment_line(line: str) -> _Entry | None:
    host, *words = line.split()
    rank = _find_number(words, _RANK_VARIABLES)
    return None if rank is None or "=" in host else _Entry(host, rank)


def _torchrun_line(line: str) -> _Entry | None:
    host, *words = line.split()
    slots = _find_number(words, _PER_HOST)
    return _Entry(host, slots=slots) if slots and slots <= hostlist.MAX_SLOTS else None


def _script_line(line: str) -> _Entry | None:
    first, *words = line.split()
    if first == "on" and words:
        return _torchrun_line(" ".join(words))
    if first == "pin" and len(words) == 2 and words[0].startswith('"') and "=" in words[0]:
        return _Entry(words[1])
    return None


def _machine_line(line: str) -> _Entry | None:
    words = line.split()
    is_machine = len(words) == 2 and is_address(words[0]) and re.fullmatch(r"[0-9]{4,5}", words[1])
    return _Entry(words[0]) if is_machine else None
