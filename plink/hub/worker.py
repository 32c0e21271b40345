"""A worker of a service: it contributes gradients, and gets values."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError, WrongUseError
from plink.engine.congestion import congestion_control, systems_congestion_control
from plink.files.fields import Fields
from plink.hub import _native
from plink.hub.calling import HubError, Session, open_data, with_port_of
from plink.hub.hyper import Hyper, pack
from plink.hub.manifest import Manifest
from plink.hub.placement import Placement, Port, Sites, place
from plink.hub.service import WIRES, ServiceOptions, options_from_json
from plink.hub.serving.hello import WORKER, DataHello
from plink.transport.addresses import parse_address
from plink.transport.proofs import NONCE_BYTES

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
        self._sessions: list[Session] = []
        self._client: _native.Client | None = None
        self.gradients: Floats = np.zeros(manifest.items, np.float32)
        self.values: Floats = np.zeros(manifest.items, np.float32)
        try:
            self._connect(servers, namespace, secret)
        except BaseException:
            self.close()
            raise

    def _connect(self, servers: Sequence[str], namespace: str, secret: bytes) -> None:
        answers: list[Fields] = []
        number: int | None = None
        for address in servers:
            session = Session(address, WORKER, namespace, secret, self._options.timeout_s)
            self._sessions.append(session)
            join = {"what": "join", "number": number, "manifest": self._manifest.to_json()}
            answers.append(Fields(session.ask(join), f"{session.peer}'s answer"))
            number = answers[-1].integer("number", 0, 0xFFFF)
        self.number = number or 0
        self.service: ServiceOptions = options_from_json(answers[0].object("options"))
        self.workers = self.service.workers
        by_key = self.service.granularity == "key"
        chunks = self._manifest.chunks(self.service.chunk_bytes, by_key=by_key)
        ports = [answer.objects("ports") for answer in answers]
        sites = Sites(
            tuple(
                tuple(Port(p.integer("cores", 1, 1024), p.number("weight", 0.0, 1e6)) for p in its)
                for its in ports
            )
        )
        placement = place(chunks, sites, interfaces=self.service.interfaces)
        self.iteration, self._has_values = self._place(sites, placement)
        fds, names, sockets = [], [], []
        try:
            used = set(placement.loops.tolist())
            firsts: dict[int, int] = {}
            for number_of_loop, loop in enumerate(sites.loops):
                lane = number_of_loop - firsts.setdefault(loop.server, number_of_loop)
                names.append(servers[loop.server])
                if number_of_loop not in used:
                    fds.append(-1)
                    continue
                host = parse_address(servers[loop.server], "a server")[0]
                port = placement.dialled_port(self.number, number_of_loop)
                address = with_port_of(host, ports[loop.server][port].text("address"))
                answer = answers[loop.server]
                hello = DataHello(
                    namespace,
                    self.number,
                    answer.integer("incarnation", 1, 0xFFFF),
                    lane,
                    secrets.token_bytes(NONCE_BYTES),
                )
                key = self._sessions[loop.server].key
                sockets.append(open_data(address, hello, key, self._options.timeout_s))
                fds.append(sockets[-1].fileno())
            near = congestion_control(None, systems_congestion_control())
            line = _native.LineOptions(
                near.near or "", near.far or "", self._options.send_buffer_bytes
            )
            self._client = _native.Client(
                chunks.items.astype(np.uint32),
                placement.loops.astype(np.uint32),
                self.gradients,
                self.values,
                WIRES.index(self.service.wire),
                [answers[loop.server].integer("incarnation", 1, 0xFFFF) for loop in sites.loops],
                self.service.commit == "step",
                self.iteration,
                fds,
                names,
                line,
            )
        finally:
            for connection in sockets:
                connection.close()
        self.iteration += 1
        self._offsets = self._manifest.offsets_items

    def _place(self, sites: Sites, placement: Placement) -> tuple[int, bool]:
        iteration, has_values = 0, True
        for server, session in enumerate(self._sessions):
            message = {
                "what": "place",
                "sites": sites.to_json(),
                "server": server,
                "digest": placement.digest,
            }
            answer = Fields(session.ask(message), f"{session.peer}'s answer")
            iteration = max(iteration, answer.integer("iteration", 0, 0xFFFFFFFF))
            has_values = has_values and answer.flag("has_values")
        return iteration, has_values

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
        for session in self._sessions:
            try:
                if client is not None:
                    session.tell({"what": "leave"})
            except (OSError, PlinkError):
                continue
        if client is not None:
            client.close()
        for session in self._sessions:
            session.close()
        self._sessions = []

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, timeout_s: float | None) -> _native.StepResult:
        left_s = math.inf if timeout_s is None else timeout_s
        while True:
            look_s = min(left_s, _LOOK_S)
            result = self._native(lambda client, s=look_s: client.wait(s))
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
