"""Copies of values and optimiser state that a worker reads or changes between iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.hub.session.messages import Numbers, Read, Recalled, Write
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float32]
_WIRE = np.dtype("<f4")


@dataclass(frozen=True, eq=False)
class LaneCopy:
    """Copy of one lane's state.

    Args:
        lane: its number.
        chunks: of each, where it begins in the flat array of all keys, and its length.
        steps: how many the optimiser had made.
        arrays: values and states, one chunk behind the other.
    """

    lane: int
    chunks: Sequence[tuple[int, int]]
    steps: int
    arrays: list[Floats]


class Copies:
    """Copy of a server's state after an iteration, one lane after the other.

    Args:
        iteration: which.
        lanes: at least one.
    """

    def __init__(self, iteration: int, lanes: Sequence[LaneCopy]) -> None:
        self.iteration = iteration
        self._lanes = lanes
        self._arrays = [
            np.concatenate([lane.arrays[i] for lane in lanes]) for i in range(len(lanes[0].arrays))
        ]

    @property
    def recalled(self) -> Recalled:
        """Description of the copy for the worker that reads it."""
        pieces: list[tuple[int, int]] = []
        for lane in self._lanes:
            for first, items in lane.chunks:
                if pieces and sum(pieces[-1]) == first:
                    pieces[-1] = (pieces[-1][0], pieces[-1][1] + items)
                else:
                    pieces.append((first, items))
        return Recalled(max(lane.steps for lane in self._lanes), tuple(pieces))

    def read(self, read: Read) -> Numbers:
        """Return the numbers of the copy that a worker asks for.

        Raises:
            ProtocolError: there is no such thing.
        """
        part = self._part(read.array, read.first, read.items)
        return Numbers(part.astype(_WIRE, copy=False).tobytes())

    def write(self, write: Write) -> None:
        """Overwrite the numbers of the copy that a worker names.

        Raises:
            ProtocolError: there is no such thing.
        """
        data = np.frombuffer(write.data, _WIRE)
        self._part(write.array, write.first, len(data))[:] = data

    def of_lanes(self) -> list[tuple[int, list[Floats]]]:
        """Return each lane's number and its arrays of the copy."""
        ends = np.cumsum([len(lane.arrays[0]) for lane in self._lanes])[:-1]
        parts = [np.split(array, ends) for array in self._arrays]
        return [(lane.lane, [part[i] for part in parts]) for i, lane in enumerate(self._lanes)]

    def _part(self, array: int, first: int, items: int) -> Floats:
        if array >= len(self._arrays) or first + items > len(self._arrays[array]):
            raise ProtocolError("a worker reads or writes what there is not")
        return self._arrays[array][first : first + items]
