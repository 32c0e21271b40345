"""A worker's end of reading and changing a service's state between iterations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from plink.hub.calling import Control
from plink.hub.hyper import STATES
from plink.hub.session.messages import (
    MOST_NUMBERS_BYTES,
    Load,
    Numbers,
    Read,
    Recall,
    Recalled,
    Write,
)
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float32]

_WIRE = np.dtype("<f4")
_MOST_ITEMS = MOST_NUMBERS_BYTES // _WIRE.itemsize


def pull(
    controls: Sequence[Control], optimizer: str, iteration: int, items: int
) -> tuple[int, dict[str, Floats]]:
    """Read the optimiser's state after an iteration from all servers.

    Args:
        controls: to each server.
        optimizer: of the service.
        iteration: the last of this worker.
        items: of all keys.

    Returns:
        How many steps it has made, and its arrays by name, (items,) each.

    Raises:
        HubError: the service has gone on, or is lost.
    """
    names = STATES[optimizer]
    arrays = {name: np.zeros(items, np.float32) for name in names}
    steps = 0
    for control in controls:
        recalled = _recall(control, iteration)
        steps = max(steps, recalled.steps)
        for number, name in enumerate(names, 1):
            for first, begin, end in _parts(recalled, items):
                answer = control.ask(Read(number, first, end - begin))
                data = answer.data if isinstance(answer, Numbers) else b""
                if len(data) != (end - begin) * _WIRE.itemsize:
                    raise _strange(control)
                arrays[name][begin:end] = np.frombuffer(data, _WIRE)
    return steps, arrays


def give(
    controls: Sequence[Control],
    optimizer: str,
    iteration: int,
    steps: int,
    arrays: Mapping[str, Floats],
) -> None:
    """Write a new optimiser state to the service; all workers call this with the same state.

    Args:
        controls, optimizer, iteration: as of `pull`.
        steps: how many the optimiser has made.
        arrays: by name, (items,) each.

    Raises:
        HubError: another worker gave another state, or has gone on without one.
    """
    found = hashlib.sha256(str(steps).encode())
    for name in STATES[optimizer]:
        found.update(arrays[name].astype(_WIRE, copy=False).tobytes())
    for control in controls:
        recalled = _recall(control, iteration)
        for number, name in enumerate(STATES[optimizer], 1):
            for first, begin, end in _parts(recalled, len(arrays[name])):
                data = arrays[name][begin:end].astype(_WIRE, copy=False).tobytes()
                control.ask(Write(number, first, data))
        control.ask(Load(steps, found.hexdigest()))


def _recall(control: Control, iteration: int) -> Recalled:
    answer = control.ask(Recall(iteration))
    if not isinstance(answer, Recalled):
        raise _strange(control)
    return answer


def _parts(recalled: Recalled, items: int) -> list[tuple[int, int, int]]:
    """Cut a server's pieces for messages: (index at the server, begin, end) of each range."""
    found = []
    before = 0
    for offset, length in recalled.pieces:
        if offset + length > items:
            raise ProtocolError("the hub has more numbers than there are")
        for begin in range(offset, offset + length, _MOST_ITEMS):
            end = min(begin + _MOST_ITEMS, offset + length)
            found.append((before + begin - offset, begin, end))
        before += length
    return found


def _strange(control: Control) -> ProtocolError:
    return ProtocolError(f"{control.peer} answers something else")
