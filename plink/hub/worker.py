"""Worker of a service, which contributes gradients and receives new values."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError, WrongUseError
from plink.hub import _native, recalling
from plink.hub.calling import HubError
from plink.hub.hyper import Hyper, pack
from plink.hub.joining import Connected, Place, connect, line_options
from plink.hub.manifest import Manifest
from plink.hub.service import WIRES
from plink.hub.session.messages import Leave
from plink.transport.tls import Tls

Floats = npt.NDArray[np.float32]
T = TypeVar("T")

# How long a wait goes on before it looks whether it is interrupted.
_LOOK_S = 0.2
# Between two tries to come back.
_RETRY_S = 0.2


@dataclass(frozen=True)
class WorkerOptions:
    """Options of a worker.

    Args:
        timeout_s: of each answer while it connects.
        send_buffer_bytes: of each connection to a near server; the kernel doubles it.
        tls: files of this worker's, for connections by TLS; None for clear ones.
    """

    timeout_s: float = 60.0
    send_buffer_bytes: int = 128 << 10
    tls: Tls | None = None


@dataclass(frozen=True)
class Step:
    """Result of an iteration: gradient norm, whether it was skipped, number of contributors.

    Args:
        iteration: its number.
        norm: of the mean gradient; None where chunks are stepped one by one.
        skipped: whether nothing was changed, since gradients were not finite.
        workers: how many contributed.
    """

    iteration: int
    norm: float | None
    skipped: bool
    workers: int


class Worker:
    """Worker of a service, which contributes gradients and receives new values.

    Args:
        servers: addresses of the service's servers, HOST:PORT, in the service's order.
        namespace: of the service.
        secret: of the service.
        manifest: its keys.
        options: of this worker.

    Attributes:
        number: among the workers, from 0.
        workers: how many contribute.
        service: its options.
        iteration: that `begin` begins next; the first of a new service is 1.
        gradients: (items,) to be filled before they are pushed, and left alone until the
            iteration has ended.
        values: (items,) new ones land here while an iteration is under way.

    Raises:
        HubError: a server cannot be reached or refuses.
        ProtocolError: a server has another secret, or only one end speaks TLS.
        WrongUseError: a file of `tls` cannot be used.
    """

    def __init__(
        self,
        servers: Sequence[str],
        namespace: str,
        secret: bytes,
        manifest: Manifest,
        options: WorkerOptions | None = None,
    ) -> None:
        if not servers:
            raise WrongUseError("a service without servers")
        options = options or WorkerOptions()
        self._manifest = manifest
        self._offsets = manifest.offsets_items
        tls = options.tls.for_host() if options.tls else None
        self._place = Place(servers, namespace, secret, manifest, options.timeout_s, tls)
        self._line = line_options(options.send_buffer_bytes, tls)
        self.gradients: Floats = np.zeros(manifest.items, np.float32)
        self.values: Floats = np.zeros(manifest.items, np.float32)
        self._connected = connect(self._place)
        joined = self._connected.joined
        self.number = joined.worker
        self.workers = joined.workers
        self.service = joined.options
        self.iteration = joined.iteration
        self._client: _native.Client | None = None
        try:
            self._client = self._create_client(self._connected)
        finally:
            self._connected.close_data()

    def _create_client(self, connected: Connected) -> _native.Client:
        return _native.Client(
            connected.chunks.items.astype(np.uint32),
            connected.placement.loops.astype(np.uint32),
            self.gradients,
            self.values,
            WIRES.index(self.service.wire),
            connected.joined.incarnation,
            self.service.commit == "step",
            self.iteration - 1,
            connected.fds(),
            connected.names,
            self._line,
        )

    def initialise(self, values: npt.ArrayLike) -> None:
        """Start from the first worker's values, or from those that the service has.

        Args:
            values: (items,) of this worker. Afterwards `self.values` is equal on all workers.

        Raises:
            HubError: the service has failed.
        """
        self.values[:] = values
        is_source = self._connected.is_source
        self._call(lambda client: client.initialise(is_source))
        self._wait(None)

    def begin(self, hyper: Sequence[Hyper]) -> int:
        """Begin the next iteration with its hyperparameters.

        Args:
            hyper: of each group, the same on all workers.

        Returns:
            Its number.

        Raises:
            HubError: the service has failed.
        """
        if len(hyper) != self._manifest.groups:
            raise WrongUseError(
                f"hyperparameters of {len(hyper)} groups, expected {self._manifest.groups}"
            )
        packed = pack(hyper)
        begun = self._call(lambda client: client.begin(packed))
        self.iteration = begun + 1
        return begun

    def push(self, first_key: int, last_key: int) -> None:
        """Push the gradients of keys `first_key` to before `last_key`, from any thread.

        Raises:
            HubError: the service has failed.
        """
        if not 0 <= first_key <= last_key < len(self._offsets):
            raise WrongUseError(f"there are no keys {first_key} to {last_key}")
        first, end = int(self._offsets[first_key]), int(self._offsets[last_key])
        self._call(lambda client: client.push(first, end))

    def wait(self, timeout_s: float | None = None) -> Step:
        """Wait until all new values of the iteration are in `values`, and return its result.

        Raises:
            TimeoutError: they are not, after so long.
            HubError: the service has failed.
        """
        result = self._wait(timeout_s)
        norm = math.sqrt(result.squares) if self.service.commit == "step" else None
        if result.workers:
            self.workers = result.workers
        return Step(result.iteration, norm, result.is_skipped, result.workers)

    def push_pull(self, hyper: Sequence[Hyper]) -> Step:
        """Run one iteration whose gradients are all ready and return its result."""
        self.begin(hyper)
        self.push(0, len(self._offsets) - 1)
        return self.wait()

    def state(self) -> tuple[int, dict[str, Floats]]:
        """Return the number of the optimiser's steps, and its state: arrays by name, (items,) each.

        No iteration is under way at this worker.

        Raises:
            HubError: the service is not in mode sync, and has gone on.
        """
        controls = self._connected.controls
        optimizer, items = self.service.optimizer, self._manifest.items
        return recalling.pull(controls, optimizer, self.iteration - 1, items)

    def load_state(self, steps: int, arrays: Mapping[str, Floats]) -> None:
        """Set the service's optimiser state; all workers do so before they go on.

        Args:
            steps, arrays: as `state` returns them.

        Raises:
            HubError: another worker gave another state, or has gone on without one.
        """
        controls, optimizer = self._connected.controls, self.service.optimizer
        recalling.give(controls, optimizer, self.iteration - 1, steps, arrays)

    def close(self) -> None:
        """Leave the service; what was pushed in full counts, though it was not waited for."""
        client, self._client = self._client, None
        for control in self._connected.controls:
            # Who is done is not lost; where the service has failed that makes no difference.
            with contextlib.suppress(PlinkError):
                if client is not None:
                    control.ask(Leave(client.last_contribution()))
        if client is not None:
            client.close()
        for control in self._connected.controls:
            control.close()
        self._connected.controls = []

    def abandon(self) -> None:
        """Drop all connections without telling the servers, as if killed."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
        for control in self._connected.controls:
            control.close()
        self._connected.controls = []

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, timeout_s: float | None) -> _native.StepResult:
        left_s = math.inf if timeout_s is None else timeout_s
        while True:
            look_s = min(left_s, _LOOK_S)
            result = self._call(functools.partial(_native.Client.wait, seconds=look_s))
            if result is not None:
                return result
            left_s -= look_s
            if left_s <= 0.0:
                raise TimeoutError(f"iteration {self.iteration - 1} takes longer")

    def _call(self, call: Callable[[_native.Client], T]) -> T:
        while True:
            client = self._client
            if client is None:
                raise HubError("the worker is closed")
            try:
                return call(client)
            except RuntimeError as error:
                failure = HubError(str(error))
            if not client.is_lost() or self.service.on_loss != "wait":
                raise failure
            self._come_back(client, failure)

    def _come_back(self, client: _native.Client, failure: HubError) -> None:
        """Reconnect under a new incarnation while the service waits for this worker."""
        until_s = time.monotonic() + self.service.grace_s
        for control in self._connected.controls:
            control.close()
        self._connected.controls = []
        while True:
            try:
                connected = connect(self._place, self._connected.joined)
                break
            except PlinkError:
                if time.monotonic() > until_s:
                    raise failure from None
                time.sleep(_RETRY_S)
        self._connected = connected
        try:
            client.resume(
                connected.joined.incarnation, connected.fds(), connected.names, self._line
            )
        finally:
            connected.close_data()
