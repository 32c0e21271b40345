"""Common parts of inventories: running the programs that list hosts, and parsing YAML.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.remote.session import last_line

ReadFile = Callable[[str], bytes]
"""Gives the content of a file; raises whatever its caller expects where there is none."""


@dataclass(frozen=True)
class InventoryHosts:
    """Hosts of an inventory, with the command or keys that reach them and notes for the user.

    Args:
        via: returns the template of the command that leads into them, or raises `HostListError`
            where only the user can say. None: SSH.
    """

    hosts: Sequence[ListedHost]
    via: Callable[[], str] | None = None
    identity_files: Sequence[str] = ()
    content: bytes | None = None
    notes: Sequence[str] = ()


def file_and_part(where: str) -> tuple[str, str]:
    """Split `FILE:PART` at the last colon without a slash after it; PART is empty without one."""
    path, colon, part = where.rpartition(":")
    return (path, part) if colon and path and "/" not in part else (where, "")


TIMEOUT_S = 60.0


def run_program(words: Sequence[str], place: str, hint: str) -> bytes:
    """Run another program, such as kubectl, and return its standard output; raise if it fails.

    Args:
        words: the program and its arguments; no shell sees them.
    """
    program = words[0]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError:
        raise HostListError(f"{place}: the program {program} is not installed here", hint) from None
    except subprocess.TimeoutExpired:
        message = f"{place}: {program} did not answer within {TIMEOUT_S:g} s"
        raise HostListError(message, hint) from None
    except (OSError, ValueError) as error:
        message = f"{place}: {program} cannot be run ({clean(str(error))})"
        raise HostListError(message, hint) from None
    if done.returncode != 0:
        reason = last_line(done.stderr) or f"exit status {done.returncode}"
        raise HostListError(f"{place}: {program} failed: {clean(reason)}", hint)
    return done.stdout


# The parser is written in Python: it takes some 40 µs for each entry, 1 µs for each character.
_MOST_CHARACTERS = 2_000_000
_MOST_MARKS = 100_000
_MARKS = "[{,:\n"


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML loader that refuses aliases (as they can expand without limit) and duplicate keys.

    A few aliases, nested, stand for more than any memory holds; of a key that is there twice, the
    usual loader takes the last.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("YAML aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.YAMLError(
                    f"line {key_node.start_mark.line + 1}: the key {key!r} occurs twice"
                )
            if isinstance(key, Hashable):
                seen.add(key)
        return super().construct_mapping(node, deep)


def _construct_unknown(*_: object) -> None:
    """Return None in place of a YAML value with another program's tag, such as !vault."""


_Loader.add_multi_constructor("!", _construct_unknown)


def parse_yaml(text: str, source: str, hint: str) -> Any:
    """Parse YAML of limited size, without aliases, into dicts, lists and scalars."""
    marks = sum(map(text.count, _MARKS))
    if len(text) > _MOST_CHARACTERS or marks > _MOST_MARKS:
        raise HostListError(
            f"{source}: the YAML is too large, with more than 2 MB or 100,000 entries", hint
        )
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = clean(" ".join(str(error).split()))
        raise HostListError(f"{source}: not valid YAML ({reason})", hint) from None
