"""Services' states to write and read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.hub.hyper import STATES, Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.placement import Port, Sites, place
from plink.hub.service import ServiceOptions
from plink.hub.snapshot import VALUES, Part, Piece

MANIFEST = Manifest((Key("w", (70, 10)), Key("b", (11,), 1), Key("v", (300,), 1)), 2)
GROUPS = (Hyper(lr=0.1), Hyper(lr=0.2, weight_decay=0.01))


def state_of(options: ServiceOptions, seed: int = 3) -> dict[str, np.ndarray]:
    """Arrays of all keys: values and what the optimiser keeps."""
    dice = np.random.default_rng(seed)
    names = (VALUES, *STATES[options.optimizer])
    return {name: dice.standard_normal(MANIFEST.items).astype(np.float32) for name in names}


def parts_of(
    options: ServiceOptions, arrays: dict[str, np.ndarray], ports_of: Sequence[int], steps: int = 5
) -> list[Part]:
    """What each of several servers holds of it, as its chunks are placed."""
    chunks = MANIFEST.chunks(options.chunk_bytes)
    sites = Sites(tuple((Port(),) * ports for ports in ports_of))
    where = place(chunks, sites)
    parts = []
    for server in range(len(ports_of)):
        pieces = []
        for number in range(len(chunks)):
            if sites.loops[where.loops[number]].server == server:
                begin = int(chunks.offsets_items[number])
                cut = slice(begin, begin + int(chunks.items[number]))
                mine = {name: array[cut] for name, array in arrays.items()}
                pieces.append(Piece(begin, steps, mine))
        parts.append(Part(options, MANIFEST, server, len(ports_of), steps, GROUPS, tuple(pieces)))
    return parts
