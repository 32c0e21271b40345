"""One rank's machine and driver on an engine, without tensors: what is released is done at once."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from torch._C._distributed_c10d import PrefixStore

from benchkit.control.rank import Rank
from plink.engine import C10dStore, Engine, Options
from plink.plans.forest import Forest
from plink.torch import Control
from plink.torch.named.driver import Machine
from plink.torch.named.native_driver import NativeDriver
from plink.torch.named.running import CONTROL_VARIABLE, driver_of, machine_of
from plink.training.control.actions import Action, Release
from plink.training.control.events import Announced, Done
from plink.training.control.requests import Request, Tensor

# The thread of either driver.
_THREAD = "plink-control"
_RELEASE_S = 300.0


def engine_of(rank: Rank, name: str, forest: Forest) -> Engine:
    """An engine over the first ranks, as many as the forest has.

    Args:
        rank: one of them.
        name: that no engine had before.
        forest: of it.
    """
    store = C10dStore(PrefixStore(name, rank.meeting.store))
    options = Options(addresses=(rank.seat.address,), setup_timeout_s=_RELEASE_S)
    return Engine(rank.rank, forest.ranks, store, forest, options)


def star(ranks: int) -> Forest:
    """A plan of one route: all at rank 0."""
    parents = np.array([[-1, *[0] * (ranks - 1)]], np.int32)
    return Forest(np.array([1.0]), parents, parents)


def parameters(count: int) -> list[Request]:
    """All-reduces of as many tensors."""
    return [Request(f"layer{i}.weight", (Tensor("float32", (64, 64)),)) for i in range(count)]


class Agreeing:
    """From its making until `close` this rank agrees with the others of an engine.

    Args:
        engine: of this rank.
        forest: of the engine.
        control: how.
        is_native: by the native machine, where the mode has one.
        watched: what the machine is put into, to be run by Python's driver.
        tell: called at each release, in the driver's thread.
    """

    def __init__(
        self,
        engine: Engine,
        forest: Forest,
        control: Control,
        *,
        is_native: bool = True,
        watched: Callable[[Machine], Machine] | None = None,
        tell: Callable[[], None] | None = None,
    ) -> None:
        os.environ[CONTROL_VARIABLE] = "native" if is_native else "python"
        machine = machine_of(control, forest, engine.rank)
        if watched is not None:
            machine = watched(machine)
        self._tell = tell
        self._released = threading.Semaphore(0)
        self._driver = driver_of(machine, engine, self._do)

    def announce(self, *requests: Request) -> None:
        """Together."""
        self._driver.tell(Announced(requests))

    def await_released(self, count: int) -> None:
        """Return when so many more have been released."""
        for _ in range(count):
            if not self._released.acquire(timeout=_RELEASE_S):
                raise TimeoutError(f"not all was released within {_RELEASE_S:g} s")

    def iterate(self, requests: Sequence[Request], order: random.Random) -> None:
        """Announce each by itself, in this order, and return when all are released."""
        for request in order.sample(requests, len(requests)):
            self.announce(request)
        self.await_released(len(requests))

    def busy_s(self) -> float:
        """Processor time of the thread that agrees; a native machine's and its thread's."""
        threads = [thread for thread in threading.enumerate() if thread.name == _THREAD]
        clocks = [time.pthread_getcpuclockid(thread.ident) for thread in threads if thread.ident]
        own_s = self._driver.busy_s if isinstance(self._driver, NativeDriver) else 0.0
        return own_s + sum(map(time.clock_gettime, clocks))

    def close(self) -> None:
        """Agree on nothing more."""
        self._driver.close("the measurement has ended")

    def _do(self, action: Action) -> None:
        if not isinstance(action, Release):
            # After what was to be measured, or else it will be missed.
            return
        if self._tell is not None:
            self._tell()
        self._driver.tell(Done(len(action.batches)))
        self._released.release(sum(len(batch.requests) for batch in action.batches))


def meet(engine: Engine) -> None:
    """Return when all ranks are here."""
    engine.allreduce(np.zeros(1, np.float32)).wait()
