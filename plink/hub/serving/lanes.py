"""Lanes of one service at one server, over the event loops that serve them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.hub import _native
from plink.hub.hyper import OPTIMIZERS, STATES
from plink.hub.manifest import Chunks
from plink.hub.service import MODES, WIRES, ServiceOptions
from plink.hub.serving.recalled import Copies, LaneCopy
from plink.hub.serving.saving import merge_pieces
from plink.hub.snapshot import VALUES, Piece, Snapshot


@dataclass(frozen=True)
class LaneStatus:
    """Current status of a lane: its port, event loop, connections and figures.

    Args:
        port, core: of the server; its event loops are numbered from 0.
        connections: of workers.
        figures: of the lane.
    """

    port: int
    core: int
    connections: int
    figures: _native.LaneFigures


class Lanes:
    """Lanes of a service at one server: a lane is a core of a port, with the chunks placed there.

    Args:
        tenant: number of the service at this server.
        options: of the service.
        loops: of the server.
        cores: the loops of each port.
        racks: how many there are, each with a server, and which this one is of.
    """

    def __init__(
        self,
        tenant: int,
        options: ServiceOptions,
        loops: list[_native.Loop],
        cores: list[list[int]],
        racks: tuple[int, int] = (1, 0),
    ) -> None:
        self.tenant = tenant
        self._options = options
        self._racks = racks
        self._ports = [port for port, its in enumerate(cores) for _ in its]
        self._cores = [loop for port in cores for loop in port]
        self._loop_of = [loops[loop] for port in cores for loop in port]
        self._open: set[int] = set()
        self._own: list[_native.Loop] = []
        self._without_values: set[int] = set()
        self._chunks: dict[int, list[tuple[int, int]]] = {}
        self._copied: set[int] = set()
        self._copied_iteration = 0

    def open(self, chunks: Chunks, loops: npt.NDArray[np.int32], first: int, groups: int) -> None:
        """Create, in their event loops, the lanes that have chunks.

        Args:
            chunks: of the service.
            loops: of each chunk, the number of its loop among those of all servers.
            first: the number of this server's first loop.
            groups: of parameters.
        """
        for lane, loop in enumerate(self._loop_of):
            ids = np.flatnonzero(loops == first + lane).astype(np.uint32)
            if not len(ids):
                continue
            loop.open(
                self._lane_options(lane, groups),
                ids,
                chunks.items[ids].astype(np.uint32),
                chunks.groups[ids].astype(np.uint32),
                self._options.weight,
            )
            self._open.add(lane)
            ends = zip(chunks.offsets_items[ids].tolist(), chunks.items[ids].tolist(), strict=True)
            self._chunks[lane] = list(ends)
            if loop not in self._own:
                self._own.append(loop)
        self._without_values = set(self._open)

    def _lane_options(self, lane: int, groups: int) -> _native.LaneOptions:
        made = _options(self._options, self.tenant, lane, groups)
        made.racks, made.rack = self._racks
        return made

    def ports(self) -> tuple[tuple[int, int], ...]:
        """Return the number and the port of each lane that has chunks."""
        return tuple((lane, self._ports[lane]) for lane in sorted(self._open))

    def carried_bytes(self) -> list[tuple[int, int]]:
        """Return the bytes received and sent so far, by port."""
        found = [(0, 0)] * (1 + max(self._ports))
        for lane in sorted(self._open):
            its, (carried_in, carried_out) = self._figures_of(lane), found[self._ports[lane]]
            found[self._ports[lane]] = (carried_in + its.bytes_in, carried_out + its.bytes_out)
        return found

    def adopt_peer(
        self, lane: int, rack: int, fd: int, line: _native.LineOptions, *, is_caller: bool
    ) -> None:
        """Hand a lane its connection with another rack's server, dialled here if `is_caller`."""
        self._loop_of[lane].adopt_peer(self.tenant, lane, rack, fd, line, is_caller)

    def is_open(self, lane: int) -> bool:
        """Return whether a lane has chunks."""
        return lane in self._open

    @property
    def has_values(self) -> bool:
        """Whether all chunks have values."""
        return not self._without_values

    @property
    def iterations(self) -> tuple[int | None, int | None]:
        """Lowest and highest of the latest iterations that lanes have begun; None without lanes."""
        begun = [lane.iteration for lane in self._figures()]
        return min(begun, default=None), max(begun, default=None)

    @property
    def iteration(self) -> int:
        """Latest iteration that a lane has begun; 0 before the first."""
        return self.iterations[1] or 0

    def adopt(
        self, lane: int, worker: int, incarnation: int, fd: int, line: _native.LineOptions
    ) -> None:
        """Hand a lane a worker's data connection."""
        self._loop_of[lane].adopt(self.tenant, lane, worker, incarnation, fd, line)

    def filled(self, lane: int) -> None:
        """Record that all chunks of a lane have their first values."""
        self._without_values.discard(lane)

    def copy_at(self, iteration: int) -> bool:
        """Have all lanes copy their state at an iteration's end; False if one cannot any more.

        In mode sync that is a lane which has the iteration under way or is past it. In other modes
        lanes copy at once. Each lane reports its copy by the event `COPIED`.
        """
        self._copied.clear()
        self._copied_iteration = iteration
        copied = [loop.copy_at(self.tenant, iteration) for loop in self._own]
        return all(copied)

    def is_copied(self, lane: int, iteration: int) -> bool:
        """Record that a lane has its copies and return whether all lanes have theirs.

        Of an attempt at an earlier iteration, at whose end not all lanes could copy, none count.
        """
        if iteration == self._copied_iteration:
            self._copied.add(lane)
        return self._copied >= self._open

    def take_pieces(self) -> tuple[int, bytes, list[Piece]]:
        """Return the copied iteration, its hyperparameters, and the copies as merged pieces."""
        names = (VALUES, *STATES[self._options.optimizer])
        iteration, hypers, pieces = 0, b"", []
        for lane in sorted(self._open):
            iteration, steps, its, arrays = self._loop_of[lane].take_copy(self.tenant, lane)
            hypers = its or hypers
            at = 0
            for offset, items in self._chunks[lane]:
                parts = {
                    name: array[at : at + items] for name, array in zip(names, arrays, strict=True)
                }
                pieces.append(Piece(offset, steps, parts))
                at += items
        return iteration, hypers, merge_pieces(pieces)

    def load(self, snapshot: Snapshot) -> None:
        """Load values and optimiser state into all lanes from a snapshot."""
        for lane, chunks in self._chunks.items():
            arrays = [
                np.concatenate([array[offset : offset + items] for offset, items in chunks])
                for array in snapshot.arrays.values()
            ]
            steps = max(snapshot.steps_of(offset, items) for offset, items in chunks)
            loop = self._loop_of[lane]
            loop.load(self.tenant, lane, snapshot.iteration, steps, arrays)
        self._without_values.clear()

    def retire(self, worker: int, why: str) -> None:
        """Record that a worker has left; the service fails with `why` if it still needs the worker.

        It fails so in mode sync; in other modes nobody waits for the worker any more.
        """
        for loop in self._own:
            loop.retire(self.tenant, worker, why)

    def admit(self, worker: int, since: int) -> bool:
        """Admit a worker from an iteration on; False where a lane has begun that already."""
        admitted = [loop.admit(self.tenant, worker, since) for loop in self._own]
        return all(admitted)

    def drop(self, worker: int, since: int, revision: int) -> None:
        """Drop a worker from an iteration on and discard what it has pushed for that iteration.

        Args:
            worker: which; nothing more of it comes (`cut`).
            since: the iteration.
            revision: of the set of workers, more than before.
        """
        for loop in self._own:
            loop.drop(self.tenant, worker, since, revision)

    def pass_over(self, iteration: int) -> bool:
        """Skip iterations without contributors up to this one; False if one cannot be ended."""
        passed = [loop.pass_over(self.tenant, iteration) for loop in self._own]
        return all(passed)

    def cut(self, worker: int) -> None:
        """Close a worker's data connections at once, so that nothing more of it is taken."""
        for loop in self._own:
            loop.cut(self.tenant, worker)

    def gather(self) -> None:
        """Expect the service's initial number of workers again."""
        for loop in self._own:
            loop.gather(self.tenant)

    def has_all_of(self, worker: int, iteration: int) -> bool:
        """Return whether all chunks have a worker's part in an iteration, or are past it."""
        return all(loop.has_all_of(self.tenant, worker, iteration) for loop in self._own)

    def copies(self, iteration: int) -> Copies | None:
        """Return copies of the state; None unless all chunks are at the end of that iteration."""
        found = []
        for lane in sorted(self._open):
            copy = self._loop_of[lane].copy_now(self.tenant, lane, iteration)
            if copy is None:
                return None
            _, steps, _, arrays = copy
            found.append(LaneCopy(lane, self._chunks[lane], steps, arrays))
        return Copies(iteration, found)

    def load_copies(self, copies: Copies, steps: int) -> None:
        """Load values and optimiser state into all lanes from changed copies.

        Raises:
            ValueError: an iteration is under way.
        """
        for lane, arrays in copies.of_lanes():
            self._loop_of[lane].load(self.tenant, lane, copies.iteration, steps, arrays)

    def fail(self, why: str) -> None:
        """Tell all workers that the service has failed and take nothing more from them."""
        for loop in self._own:
            loop.fail(self.tenant, why)

    @property
    def is_connected(self) -> bool:
        """Whether any lane has a data connection."""
        return any(loop.links(self.tenant) for loop in self._own)

    def close(self) -> None:
        """Close every lane and free its memory."""
        for loop in self._own:
            loop.close(self.tenant)
        self._open.clear()
        self._own.clear()

    def status(self) -> dict[str, Any]:
        """Return the figures of all lanes together, as members of `HubService` by name."""
        figures = self._figures()
        links = [link for loop in self._own for link in loop.links(self.tenant)]
        return {
            "iteration": max((lane.iteration for lane in figures), default=0),
            "steps": max((lane.steps for lane in figures), default=0),
            "skipped": max((lane.skipped for lane in figures), default=0),
            "replays": sum(lane.replays for lane in figures),
            "early_bytes": sum(lane.most_early_bytes for lane in figures),
            "connections": len(links),
            "bytes_in": sum(lane.bytes_in for lane in figures),
            "bytes_out": sum(lane.bytes_out for lane in figures),
        }

    def lanes_now(self) -> list[LaneStatus]:
        """Return the current status of each lane that has chunks."""
        links = Counter(link.lane for loop in self._own for link in loop.links(self.tenant))
        return [
            LaneStatus(self._ports[lane], self._cores[lane], links[lane], figures)
            for lane, figures in zip(sorted(self._open), self._figures(), strict=True)
        ]

    def _figures(self) -> list[_native.LaneFigures]:
        return [self._figures_of(lane) for lane in sorted(self._open)]

    def _figures_of(self, lane: int) -> _native.LaneFigures:
        return self._loop_of[lane].figures(self.tenant, lane)


def needed_bytes(options: ServiceOptions, values_bytes: int) -> int:
    """Return the bytes that a service's buffers take on all its servers together.

    Args:
        options: of the service.
        values_bytes: of all values in float32.
    """
    # Sums and values, and what waits for its turn: a contribution of each worker but one.
    arrays = 2 + len(STATES[options.optimizer])
    if options.deterministic:
        arrays += options.workers - 1
    return arrays * values_bytes


def _options(options: ServiceOptions, tenant: int, lane: int, groups: int) -> _native.LaneOptions:
    made = _native.LaneOptions()
    made.tenant = tenant
    made.lane = lane
    made.workers = options.workers
    made.groups = groups
    made.optimizer = OPTIMIZERS.index(options.optimizer)
    made.mode = MODES.index(options.mode)
    made.staleness = options.staleness
    made.is_by_step = options.commit == "step"
    made.is_in_order = options.deterministic
    made.skips_nonfinite = options.skip_nonfinite
    made.clip = options.clip_norm or 0.0
    made.wire = WIRES.index(options.wire)
    return made
