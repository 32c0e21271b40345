"""One negotiation of very many ranks: until all know what all are ready for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plink.plans.forest import NO_PARENT
from plink.simulate.control.clocked import Clocked, Machine
from plink.simulate.control.costs import Costs
from plink.simulate.control.iterations import DisagreementError
from plink.simulate.control.recording import Recording
from plink.simulate.schedule import SEND, Schedule
from plink.training.control import _native
from plink.training.control.actions import Action, Release
from plink.training.control.events import Announced, Done
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, places

# Nobody serves more than so many others; in `full`, rank 0 serves all.
_MOST_CHILDREN = 8
_LONGEST_S = 600.0
# After the first one, in which names are new, ranks rest.
_REST_S = 0.0105

_MACHINES: dict[str, Callable[[Place, Settings], Machine]] = {
    "tree": _native.Tree,
    "full": _native.Full,
    "full-tree": _native.Full,
    "bitvector": _native.BitVector,
}
MODES = tuple(_MACHINES)


@dataclass(frozen=True)
class Negotiation:
    """Messages of a negotiation, and its duration on plink's clock.

    Args:
        schedule: until the last rank has what it waits for.
        time_s: from the announcements until then, with one latency for all messages.
        slept_s: of that, the longest that a thread slept for its cycle to end.
        messages, bytes: that the schedule has.
    """

    schedule: Schedule
    time_s: float
    slept_s: float
    messages: int
    bytes: int


def negotiation(mode: str, ranks: int, costs: Costs, *, tensors: int = 1) -> Negotiation:
    """All ranks announce the same tensors at once, for the second time.

    Args:
        mode: of `MODES`.
        ranks: how many.
        costs: of their threads and messages.
        tensors: that are announced together.

    Raises:
        DisagreementError: ranks wait for each other for ever.
    """
    return _Negotiating(mode, ranks, costs, tensors).run()


class _Negotiating:
    def __init__(self, mode: str, ranks: int, costs: Costs, tensors: int) -> None:
        self._ranks = ranks
        width = ranks if mode == "full" else _MOST_CHILDREN
        tree = places([NO_PARENT, *((rank - 1) // width for rank in range(1, ranks))])
        make = _MACHINES[mode]
        machines = [make(place, Settings()) for place in tree]
        self._is_told = mode == "tree"
        self._clock = Clocked(machines, costs, do=self._do)
        self._announced = Announced(
            tuple(Request(f"layer{i}", (Tensor("float32", (1024,)),)) for i in range(tensors))
        )
        self._left = [0] * ranks
        self._missing = 0
        self._last_steps: list[int] = []
        self._recording: Recording | None = None

    def run(self) -> Negotiation:
        clock = self._clock
        self._once()
        clock.run(clock.now_s + _REST_S)
        begins_s = clock.now_s
        recording = self._recording = Recording()
        clock.record(recording)
        self._once()
        clock.record(None)
        schedule = recording.schedule(self._ranks, begins_s, self._last_steps)
        sends = schedule.kind == SEND
        ends_s = max(recording.steps[step].ends_s for step in self._last_steps)
        return Negotiation(
            schedule,
            ends_s - begins_s,
            recording.slept_s,
            int(sends.sum()),
            int(schedule.amount[sends].sum()),
        )

    def _once(self) -> None:
        self._left = [len(self._announced.requests)] * self._ranks
        self._missing = self._ranks
        begins_s = self._clock.now_s
        self._clock.start()
        for rank in range(self._ranks):
            self._clock.tell(rank, self._announced)
        self._clock.run(begins_s + _LONGEST_S)
        if self._missing:
            raise DisagreementError("ranks wait for each other for ever")

    def _do(self, rank: int, action: Action, at_s: float) -> None:
        if not isinstance(action, Release):
            raise DisagreementError(f"rank {rank} wants {action}")
        self._left[rank] -= sum(len(batch.requests) for batch in action.batches)
        if self._is_told and rank == 0:
            done = Done(len(action.batches))
            self._clock.at(at_s, lambda: self._clock.tell(0, done))
        if self._left[rank]:
            return
        self._missing -= 1
        if self._recording is not None:
            # The step under way is noted when it has ended.
            self._last_steps.append(len(self._recording.steps))
        if not self._missing:
            self._clock.stop()
