"""The hostile inputs of every kind: what stands where a verb expects a file of that kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import TypeVar

from hostile import texts
from hostile.changes import Make, changed_bytes, changed_json, named_json, steering_json
from hostile.places import PLACES

_SEED = 20_261_122


@dataclass(frozen=True)
class Input:
    """Something hostile.

    Args:
        name: says what is hostile about it.
        place: makes it in a folder; its path, which may be any text.
    """

    name: str
    place: Callable[[Path], str]


# What is made of the valid file of a kind, and the hostile files that only this kind has. A kind
# that is not here gets what every kind gets. Names of hosts are those of `valid.py`.
_JSON = {"cluster": "gpu00", "order": "gpu00", "plan": "gpu00", "comparison": "a"}
_OWN: Mapping[str, Mapping[str, bytes]] = {
    "hosts": texts.HOST_LISTS,
    "truth": texts.HOST_LISTS,
    "csv": texts.MATRICES,
    "network": texts.NETWORKS,
    "ssh_config": texts.SSH_CONFIGS,
    "secret": texts.SECRETS,
}
_CUTS = 8
T = TypeVar("T")


def sample(items: Iterable[T], draw: Random, shares: int) -> Iterator[T]:
    """Draw one of so many items."""
    return (item for item in items if draw.randrange(shares) == 0)


def inputs(kind: str, valid: bytes, draw: Random, shares: int) -> Iterator[Input]:
    """Return a sample of the hostile files of a kind.

    Args:
        kind: of the file that is expected.
        valid: the content of such a file.
        draw: draws the sample.
        shares: one of so many of those that are written down by name is drawn, and one of the
            square of it of the changes of fields.
    """
    files = chain(_named(kind), _steering(kind, valid))
    return chain(sample(files, draw, shares), sample(_changed(kind, valid), draw, shares**2))


def _named(kind: str) -> Iterator[Input]:
    """What is written down by name."""
    for name, place in PLACES.items():
        yield Input(name, place)
    for name, content in texts.CONTENTS.items():
        yield _file(name, content)
    for name, content in texts.ARCHIVES.items():
        yield _file(f"{name}, unpacked", content, ".gz")
    suffix = ".toml" if kind == "network" else ""
    for name, content in _OWN.get(kind, {}).items():
        yield _file(name, content, suffix)


def _steering(kind: str, valid: bytes) -> Iterator[Input]:
    if kind in _JSON:
        for name, make in steering_json(valid):
            yield _made(name, make)


def _changed(kind: str, valid: bytes) -> Iterator[Input]:
    """The valid file of a kind with something changed in it."""
    for name, content in changed_bytes(valid, _SEED, _CUTS):
        yield _file(f"a valid one {name}", content)
    if kind in _JSON:
        for name, make in (*changed_json(valid), *named_json(valid, _JSON[kind])):
            yield _made(name, make)
    if kind == "log":
        yield from _changed_lines(valid)
    if kind == "timeline":
        yield from _changed_events(valid)


def _changed_lines(valid: bytes) -> Iterator[Input]:
    """A log with one field of its first line changed, or of a later one."""
    first, second, *rest = valid.splitlines(keepends=True)
    for name, make in changed_json(first):
        yield _made(f"the start's {name}", make, after=b"".join((b"\n", second, *rest)))
    for name, make in changed_json(second):
        yield _made(f"an entry's {name}", make, before=first, after=b"".join((b"\n", *rest)))


def _changed_events(valid: bytes) -> Iterator[Input]:
    """A timeline with one field changed of what it says of itself, or of an event of each kind."""
    lines = valid.split(b"\n")
    kinds = {
        line[:12] + line[-24:]: number for number, line in enumerate(lines) if line[:1] == b"{"
    }
    for number in (1, *kinds.values()):
        before = b"\n".join((*lines[:number], b""))
        after = b"\n".join((b",", *lines[number + 1 :]))
        for name, make in changed_json(lines[number].removesuffix(b",")):
            yield _made(f"in line {number + 1} {name}", make, before, after)


def _file(name: str, content: bytes, suffix: str = "") -> Input:
    return _made(name, lambda: content, suffix=suffix)


def _made(
    name: str, make: Make, before: bytes = b"", after: bytes = b"", *, suffix: str = ""
) -> Input:
    """A file of what is made, between what is there."""

    def place(folder: Path) -> str:
        path = folder / f"hostile{suffix}"
        content = b"".join((before, make(), after))
        path.write_bytes(content.replace(b"%SELF%", str(path).encode()))
        return str(path)

    return Input(name, place)
