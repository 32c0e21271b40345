"""State of a service at the end of an iteration, in parts that other servers can resume from.

A part is what one server held. It says where in the flat array of all keys each of its pieces lies,
and nothing of ports, cores or chunks; the parts of all servers together hold every number once, and
can be cut anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.text import format_names
from plink.hub.hyper import STATES, Hyper
from plink.hub.manifest import Manifest
from plink.hub.service import ServiceOptions

VALUES = "values"

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Piece:
    """Contiguous range of the flat array: its values and optimiser state.

    Args:
        offset_items: where they begin.
        steps: how many the optimiser has made there.
        arrays: the values and the optimiser's state, by name, of the same length.
    """

    offset_items: int
    steps: int
    arrays: Mapping[str, Floats]

    @property
    def items(self) -> int:
        """Number of values in the piece."""
        return len(self.arrays[VALUES])


@dataclass(frozen=True, eq=False)
class Part:
    """State of one server at the end of an iteration.

    Args:
        options, manifest: of the service.
        server: which it was, of so many `servers`.
        iteration: the next one, which is also how many were completed.
        groups: hyperparameters of the last step, by group; empty before the first.
        pieces: in rising order, none over another; no more than there must be.
    """

    options: ServiceOptions
    manifest: Manifest
    server: int
    servers: int
    iteration: int
    groups: tuple[Hyper, ...]
    pieces: tuple[Piece, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the part's arrays: the values, then the optimiser's state."""
        return (VALUES, *STATES[self.options.optimizer])


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State of a whole service, assembled from the parts of all its servers.

    Args:
        options, manifest, iteration, groups: as of each part.
        arrays: by name, of all keys in the flat order.
        offsets_items, steps: from each of these places on, how many steps were made.
    """

    options: ServiceOptions
    manifest: Manifest
    iteration: int
    groups: tuple[Hyper, ...]
    arrays: Mapping[str, Floats]
    offsets_items: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]

    def steps_of(self, offset_items: int, items: int) -> int:
        """Return the number of steps made in a range; the most, where async mode varies them."""
        first = int(np.searchsorted(self.offsets_items, offset_items, side="right")) - 1
        end = int(np.searchsorted(self.offsets_items, offset_items + items, side="left"))
        return int(self.steps[first:end].max())

    @property
    def digest(self) -> str:
        """SHA-256 over iteration and numbers: the same however the service was cut and placed."""
        found = hashlib.sha256(f"plink {self.iteration} {self.manifest.digest}".encode())
        for name, array in self.arrays.items():
            found.update(f" {name} ".encode())
            found.update(array.astype("<f4", copy=False).data)
        return found.hexdigest()

    def check(self, options: ServiceOptions, manifest: Manifest) -> None:
        """Check that a service of those options and that manifest can go on from this snapshot.

        Raises:
            WrongUseError: it has other keys, or its optimiser another state.
        """
        if manifest.digest != self.manifest.digest:
            raise WrongUseError("the snapshot has other keys, shapes, types or groups")
        if STATES[options.optimizer] != STATES[self.options.optimizer]:
            raise WrongUseError(
                f"the snapshot is of optimizer {self.options.optimizer}, "
                f"whose state is not that of {options.optimizer}"
            )


def assemble(parts: Sequence[Part]) -> Snapshot:
    """Assemble a snapshot from all of its parts.

    Raises:
        WrongUseError: they are of different services or iterations, or not all of them.
    """
    if not parts:
        raise WrongUseError("a snapshot without any part")
    first = parts[0]
    for part in parts[1:]:
        if part.manifest.digest != first.manifest.digest or part.options != first.options:
            raise WrongUseError("parts of snapshots of different services")
        if (part.iteration, part.groups, part.servers) != (
            first.iteration,
            first.groups,
            first.servers,
        ):
            raise WrongUseError(
                f"parts of different snapshots, of iterations {first.iteration} and "
                f"{part.iteration}"
            )
    pieces = sorted((piece for part in parts for piece in part.pieces), key=_offset)
    end = 0
    for piece in pieces:
        if piece.offset_items != end:
            raise WrongUseError(_gap(parts, first, end))
        end += piece.items
    if end != first.manifest.items:
        raise WrongUseError(_gap(parts, first, end))
    arrays = {
        name: np.concatenate([piece.arrays[name] for piece in pieces]) for name in first.names
    }
    offsets = np.array([piece.offset_items for piece in pieces], np.int64)
    steps = np.array([piece.steps for piece in pieces], np.int64)
    return Snapshot(
        first.options,
        first.manifest,
        first.iteration,
        first.groups,
        arrays,
        offsets_items=offsets,
        steps=steps,
    )


def _offset(piece: Piece) -> int:
    return piece.offset_items


def _gap(parts: Sequence[Part], first: Part, end: int) -> str:
    there = sorted({part.server for part in parts})
    servers = format_names([str(server) for server in there])
    return (
        f"{len(parts)} of {first.servers} parts of a snapshot, of servers {servers}, do not hold "
        f"every number once: item {end} is missing or there twice"
    )
