"""A mesh of ranks: its dimensions, what the groups of each run, and how many bytes that moves."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.size import format_size, parse_size
from plink.base.text import counted
from plink.files.fields import Fields

# What an order for a mesh has in place of an algorithm's name.
MESH = "mesh"

# What the groups of a dimension with one of these names run, where nothing else is said.
_PATTERNS = {"pp": "chain", "ep": "all-to-all"}
_PATTERN = "ring"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}", re.ASCII)
_ALGORITHM = re.compile(r"[a-z0-9][a-z0-9:-]{0,63}", re.ASCII)

_MOST_DIMENSIONS = 8
MAX_MESH_RANKS = 1 << 16
_MAX_BYTES = (1 << 63) - 1

_HINT = "write a mesh as dp=4,pp=2,tp=8: the last dimension's ranks are neighbours"
_TRAFFIC_HINT = "write traffic as tp=2GB,dp=ring:500MB: bytes of an iteration, or weights"


@dataclass(frozen=True)
class MeshDimension:
    """A dimension of a mesh.

    Args:
        name: such as `tp`.
        size: how many ranks each of its groups has.
        algorithm: what these run.
        size_bytes: of the buffer that each rank puts into that in an iteration; 0 for nothing.
    """

    name: str
    size: int
    algorithm: str
    size_bytes: int


@dataclass(frozen=True)
class Mesh:
    """Ranks in a grid, as PyTorch's `DeviceMesh` counts them: the last dimension fastest."""

    dimensions: Sequence[MeshDimension]

    @property
    def ranks(self) -> int:
        """How many ranks the mesh has."""
        return math.prod(one.size for one in self.dimensions)

    @property
    def size_bytes(self) -> int:
        """The traffic of all dimensions together."""
        return sum(one.size_bytes for one in self.dimensions)

    @property
    def text(self) -> str:
        """As people write it: `dp=4,tp=2`."""
        return ",".join(f"{one.name}={one.size}" for one in self.dimensions)

    @property
    def given_traffic(self) -> str:
        """What its dimensions carry, as people write it: `dp=ring:2000000`."""
        return ",".join(
            f"{one.name}={one.algorithm}:{one.size_bytes}"
            for one in self.dimensions
            if one.size_bytes
        )

    @property
    def traffic(self) -> str:
        """What its dimensions carry, in words."""
        return ", ".join(
            f"{one.name} {one.algorithm} {format_size(one.size_bytes)}"
            if one.size_bytes
            else f"{one.name} nothing"
            for one in self.dimensions
        )


def parse_mesh(mesh: str, traffic: str | None, size_bytes: int) -> Mesh:
    """The mesh that two texts describe.

    Args:
        mesh: sizes of dimensions: `dp=4,pp=2,tp=8`.
        traffic: what some of them carry: `tp=2GB,dp=halving-doubling:500MB`; the others then carry
            nothing. Where it is None, all carry `size_bytes`.
        size_bytes: of each dimension, without traffic.

    Raises:
        WrongUseError: not a mesh or traffic, or the traffic of a dimension that the mesh lacks.
    """
    sizes = {name: _size(name, value) for name, value in _pairs(mesh, "mesh", _HINT)}
    if len(sizes) > _MOST_DIMENSIONS:
        raise WrongUseError(f"the mesh has {len(sizes)} dimensions, more than {_MOST_DIMENSIONS}")
    carried = {name: (_default(name), size_bytes) for name in sizes}
    if traffic is not None:
        carried = {name: (_default(name), 0) for name in sizes}
        for name, value in _pairs(traffic, "traffic", _TRAFFIC_HINT):
            if name not in sizes:
                raise WrongUseError(f"the traffic of {name} has no dimension in the mesh", _HINT)
            carried[name] = _carried(name, value)
    found = Mesh([MeshDimension(name, size, *carried[name]) for name, size in sizes.items()])
    _check(found)
    return found


def _default(name: str) -> str:
    return _PATTERNS.get(name, _PATTERN)


def _pairs(text: str, what: str, hint: str) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (equals and value and _NAME.fullmatch(name)):
            raise WrongUseError(f"{what} has {part.strip()!r}, which is no NAME=VALUE", hint)
        if name in found:
            raise WrongUseError(f"{what} names {name} twice", hint)
        found[name] = value
    return list(found.items())


def _size(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 9 and int(value) > 0):
        raise WrongUseError(f"the size of {name} is {value!r}, no whole number above 0", _HINT)
    return int(value)


def _carried(name: str, value: str) -> tuple[str, int]:
    algorithm, colon, size = value.rpartition(":")
    if not colon:
        algorithm = _default(name)
    try:
        return algorithm.strip(), parse_size(size)
    except WrongUseError as error:
        raise WrongUseError(f"the traffic of {name}: {error}", _TRAFFIC_HINT) from None


def _check(mesh: Mesh) -> None:
    if mesh.ranks > MAX_MESH_RANKS:
        raise WrongUseError(
            f"the mesh has {counted(mesh.ranks, 'rank')}, more than {MAX_MESH_RANKS:,}"
        )
    if not any(one.size > 1 and one.size_bytes for one in mesh.dimensions):
        raise WrongUseError("no dimension of more than one rank carries anything", _TRAFFIC_HINT)


def mesh_to_json(mesh: Mesh) -> list[dict[str, Any]]:
    """The JSON array that stands for it."""
    return [vars(one).copy() for one in mesh.dimensions]


def mesh_from_json(fields: Fields) -> Mesh | None:
    """The mesh of an order file; None where it has none.

    Raises:
        WrongUseError: values that cannot be.
    """
    if fields.values.get("mesh") is None:
        return None
    dimensions = [
        MeshDimension(
            name=one.word("name"),
            size=one.integer("size", 1, MAX_MESH_RANKS),
            algorithm=one.word("algorithm"),
            size_bytes=one.integer("size_bytes", 0, _MAX_BYTES),
        )
        for one in fields.objects("mesh")
    ]
    names = {one.name for one in dimensions}
    if len(names) < len(dimensions) or not 1 <= len(dimensions) <= _MOST_DIMENSIONS:
        raise fields.error("mesh", f"1 to {_MOST_DIMENSIONS} dimensions with names of their own")
    if not all(
        _NAME.fullmatch(one.name) and _ALGORITHM.fullmatch(one.algorithm) for one in dimensions
    ):
        raise fields.error("mesh", "names such as tp, and algorithms such as ring")
    found = Mesh(dimensions)
    try:
        _check(found)
    except WrongUseError as error:
        raise WrongUseError(f"{fields.place}: {error}", error.hint) from None
    return found
