"""Snapshots of a server's services on disk: file names, merged pieces, writing, reading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.hub.session.messages import Saved
from plink.hub.snapshot import Part, Piece, Snapshot, assemble
from plink.hub.snapshot_file import read_part, write_part

_SUFFIX = ".snapshot"


def stem(namespace: str, iteration: int) -> str:
    """Return the common prefix of the file names of a snapshot's parts."""
    return f"{namespace}-{iteration}"


def save(folder: str, part: Part) -> Saved:
    """Write a server's part of a snapshot to a folder and return its name, hash and size.

    Raises:
        PlinkError: it cannot be written.
    """
    name = f"{stem(part.options.namespace, part.iteration)}.{part.server}{_SUFFIX}"
    path = Path(folder) / name
    digest = write_part(str(path), part)
    return Saved(name, part.iteration, digest, path.stat().st_size)


def read_snapshot(folder: str, name: str) -> Snapshot:
    """Read all parts of a snapshot from a folder and assemble them.

    Args:
        folder: of the server.
        name: of one of the parts, or what all their names begin with.

    Raises:
        PlinkError: the folder cannot be read.
        WrongUseError: there are none, not all, or one is not valid.
    """
    beginning = name.removesuffix(_SUFFIX)
    if beginning != name:
        beginning = beginning.rpartition(".")[0]
    try:
        files = list(Path(folder).iterdir())
    except OSError as error:
        reason = error.strerror or error
        raise PlinkError(f"the server's folder {folder} cannot be read: {reason}") from None
    paths = sorted(
        path
        for path in files
        if path.name.startswith(f"{beginning}.") and path.name.endswith(_SUFFIX)
    )
    if not paths:
        raise WrongUseError(
            f"there is no snapshot {name} in the server's folder",
            "each server needs the files of all servers that wrote it",
        )
    return assemble([read_part(str(path)) for path in paths])


def merge_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """Merge adjacent pieces with equal step counts, in the flat array's order."""
    found: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: piece.offset_items):
        last = found[-1][-1] if found else None
        if (
            last is not None
            and last.offset_items + last.items == piece.offset_items
            and last.steps == piece.steps
        ):
            found[-1].append(piece)
        else:
            found.append([piece])
    return [
        Piece(
            run[0].offset_items,
            run[0].steps,
            {name: np.concatenate([piece.arrays[name] for piece in run]) for name in run[0].arrays},
        )
        for run in found
    ]
