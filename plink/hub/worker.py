"""A worker of a service: it contributes gradients, and gets values."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError, WrongUseError
from plink.engine.congestion import congestion_control, systems_congestion_control
from plink.hub import _native
from plink.hub.calling import Control, HubError, data_connection
from plink.hub.hyper import Hyper, pack
from plink.hub.manifest import Manifest
from plink.hub.placement import Placement, place
from plink.hub.service import WIRES
from plink.hub.session.data import DataHello, new_nonce
from plink.hub.session.messages import Join, Joined, Leave, NeedManifest
from plink.hub.session.roles import WORKER
from plink.transport.addresses import format_address, is_wildcard, parse_address

Floats = npt.NDArray[np.float32]

# How long a wait goes on before it looks whether it is interrupted.
_LOOK_S = 0.2


@dataclass(frozen=True)
class WorkerOptions:
    """Options of a worker.

    Args:
        timeout_s: of each answer while it connects.
        send_buffer_bytes: of each connection to a near server; the kernel doubles it.
    """

    timeout_s: float = 60.0
    send_buffer_bytes: int = 128 << 10


@dataclass(frozen=True)
class Step:
    """What an iteration came to.

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
    """One of a service's workers.

    Args:
        servers: addresses of the service's servers, HOST:PORT, in the service's order.
        namespace: of the service.
        secret: of the service.
        manifest: its keys.
        options: of this worker.

    Raises:
        HubError: a server cannot be reached or refuses.
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
        self._options = options or WorkerOptions()
        self._manifest = manifest
        self._offsets = manifest.offsets_items
        self._controls: list[Control] = []
        self._client: _native.Client | None = None
        self.gradients: Floats = np.zeros(manifest.items, np.float32)
        self.values: Floats = np.zeros(manifest.items, np.float32)
        try:
            self._connect(servers, namespace, secret)
        except BaseException:
            self.close()
            raise

    def _connect(self, servers: Sequence[str], namespace: str, secret: bytes) -> None:
        joined: list[Joined] = []
        for address in servers:
            control = Control(address, WORKER, namespace, secret, self._options.timeout_s)
            self._controls.append(control)
            joined.append(_join(control, self._manifest, joined[0] if joined else None))
        first = joined[0]
        self.number = first.worker
        self.workers = first.workers
        self.service = first.options
        self.iteration = max(its.iteration for its in joined)
        self._has_values = all(its.has_values for its in joined)
        by_key = self.service.granularity == "key"
        chunks = self._manifest.chunks(self.service.chunk_bytes, by_key=by_key)
        placement = place(chunks, first.sites, interfaces=self.service.interfaces)
        if len(servers) != len(first.sites.servers):
            raise HubError(
                f"service {namespace} has {len(first.sites.servers)} servers, not {len(servers)}",
                "name all of them, in the order in which the service was made",
            )
        if any(its.placement != placement.digest for its in joined):
            raise HubError("the servers place chunks elsewhere than this worker")
        near = congestion_control(None, systems_congestion_control())
        line = _native.LineOptions(near.near or "", near.far or "", self._options.send_buffer_bytes)
        loops = first.sites.loops
        sockets = self._dial(servers, namespace, first, placement)
        try:
            self._client = _native.Client(
                chunks.items.astype(np.uint32),
                placement.loops.astype(np.uint32),
                self.gradients,
                self.values,
                WIRES.index(self.service.wire),
                first.incarnation,
                self.service.commit == "step",
                self.iteration - 1,
                [sockets[i].fileno() if i in sockets else -1 for i in range(len(loops))],
                [servers[loop.server] for loop in loops],
                line,
            )
        finally:
            for connection in sockets.values():
                connection.close()

    def _dial(
        self, servers: Sequence[str], namespace: str, joined: Joined, placement: Placement
    ) -> dict[int, socket.socket]:
        """A connection to each loop that has chunks."""
        sockets: dict[int, socket.socket] = {}
        try:
            for number in sorted(set(placement.loops.tolist())):
                server = joined.sites.loops[number].server
                port = placement.dialled_port(self.number, number)
                address = _reached(joined.addresses[server][port], servers[server])
                hello = DataHello(
                    WORKER, namespace, self.number, joined.incarnation, number, new_nonce()
                )
                key = self._controls[server].session.data_key
                sockets[number] = data_connection(address, hello, key, self._options.timeout_s)
        except BaseException:
            for connection in sockets.values():
                connection.close()
            raise
        return sockets

    def initialise(self, values: npt.ArrayLike) -> None:
        """Begin with the first worker's values, or with those that the service has.

        Args:
            values: (items,) of this worker. Afterwards `self.values` is equal on all workers.

        Raises:
            HubError: the service has failed.
        """
        self.values[:] = values
        is_source = self.number == 0 and not self._has_values
        self._native(lambda client: client.initialise(is_source))
        self._wait(None)

    def begin(self, hyper: Sequence[Hyper]) -> int:
        """Begin the next iteration.

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
        begun: int = self._native(lambda client: client.begin(packed))
        self.iteration = begun + 1
        return begun

    def push(self, first_key: int, last_key: int) -> None:
        """Keys from `first_key` to before `last_key` of `gradients` are ready; from any thread.

        Raises:
            HubError: the service has failed.
        """
        if not 0 <= first_key <= last_key < len(self._offsets):
            raise WrongUseError(f"there are no keys {first_key} to {last_key}")
        first, end = int(self._offsets[first_key]), int(self._offsets[last_key])
        self._native(lambda client: client.push(first, end))

    def wait(self, timeout_s: float | None = None) -> Step:
        """All values of the iteration are in `values`.

        Raises:
            TimeoutError: they are not, after so long.
            HubError: the service has failed.
        """
        result = self._wait(timeout_s)
        norm = math.sqrt(result.squares) if self.service.commit == "step" else None
        return Step(result.iteration, norm, result.is_skipped, self.workers)

    def push_pull(self, hyper: Sequence[Hyper]) -> Step:
        """An iteration whose gradients are all ready."""
        self.begin(hyper)
        self.push(0, len(self._offsets) - 1)
        return self.wait()

    def close(self) -> None:
        """Leave the service."""
        client, self._client = self._client, None
        for control in self._controls:
            # Who is done is not lost; where the service has failed that makes no difference.
            with contextlib.suppress(PlinkError):
                if client is not None:
                    control.ask(Leave(self.iteration - 1))
        if client is not None:
            client.close()
        for control in self._controls:
            control.close()
        self._controls = []

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, timeout_s: float | None) -> _native.StepResult:
        left_s = math.inf if timeout_s is None else timeout_s
        while True:
            look_s = min(left_s, _LOOK_S)
            result: _native.StepResult | None = self._native(lambda its, s=look_s: its.wait(s))
            if result is not None:
                return result
            left_s -= look_s
            if left_s <= 0.0:
                raise TimeoutError(f"iteration {self.iteration - 1} takes longer")

    def _native(self, call: Any) -> Any:
        if self._client is None:
            raise HubError("the worker is closed")
        try:
            return call(self._client)
        except RuntimeError as error:
            raise HubError(str(error)) from None


def _join(control: Control, manifest: Manifest, first: Joined | None) -> Joined:
    """What a server says to a worker, to which another one may have given a number."""
    join = Join(manifest.digest)
    if first is not None:
        join = Join(manifest.digest, None, first.worker, first.incarnation)
    answer = control.ask(join)
    if isinstance(answer, NeedManifest):
        answer = control.ask(dataclasses.replace(join, manifest=manifest))
    if not isinstance(answer, Joined):
        raise HubError(f"{control.peer} answers something else")
    return answer


def _reached(address: str, server: str) -> str:
    """A port's address; that of the server as it was named, where the port is all of its hosts'."""
    host, port = parse_address(address, "a port")
    return (
        format_address(parse_address(server, "a server")[0], port) if is_wildcard(host) else address
    )
