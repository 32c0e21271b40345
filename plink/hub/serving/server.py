"""Hub server: its listening ports, its event loops, and its services."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

from plink.base.errors import PlinkError
from plink.hub import _native
from plink.hub.joining import line_options
from plink.hub.serving.options import ServerOptions, cores_of_ports
from plink.hub.serving.registry import Registry
from plink.hub.serving.shell import BeginMetrics, Doors, Shell
from plink.transport.addresses import format_address, parse_address
from plink.transport.encryption import context_of

_BACKLOG = 4096


def _mute(_: str) -> None:
    pass


class Server:
    """Hub server, which serves in threads of its own until it is closed.

    Args:
        options: of it.
        say: told a sentence of connections that are dropped, in a thread of the server's.

    Attributes:
        doors: counts those who have not proven who they are.
    """

    def __init__(self, options: ServerOptions, say: Callable[[str], None] = _mute) -> None:
        self._options = options
        self.doors = Doors(say)
        self._listeners: list[socket.socket] = []
        self._loops: list[_native.Loop] = []
        self._thread: threading.Thread | None = None
        self._shell: Shell | None = None

    @property
    def addresses(self) -> list[str]:
        """Listening address of each port, HOST:PORT."""
        return [format_address(*listener.getsockname()[:2]) for listener in self._listeners]

    @property
    def metrics_address(self) -> str:
        """Address at which Prometheus reads metrics; empty if there is none."""
        return self._shell.metrics_address if self._shell is not None else ""

    def start(self) -> None:
        """Listen on all ports and serve, in threads of the server's own.

        Raises:
            PlinkError: an address is not this host's, or taken; or prometheus_client is missing.
            WrongUseError: a file of TLS cannot be used.
        """
        options = self._options
        tls = options.tls.for_host() if options.tls else None
        begin_metrics = _metrics(options.metrics) if options.metrics else None
        context = context_of(tls, is_server=True) if tls else None
        line = line_options(options.send_buffer_bytes, tls)
        try:
            for address in options.listen:
                self._listeners.append(_listening(address))
        except PlinkError:
            self.close()
            raise
        events = _native.Events()
        self._loops = [_native.Loop(events, core) for core in options.pinned_cores()]
        cores = cores_of_ports(len(self._listeners), len(self._loops))
        weights = list(options.weights) or [1.0] * len(cores)
        registry = Registry(
            options.secret,
            loops=self._loops,
            cores=cores,
            weights=weights,
            addresses=self.addresses,
            snapshots=options.snapshots,
            line=line,
            tls=tls,
            window_s=options.window_s,
        )
        self._shell = Shell(
            registry,
            events,
            self._listeners,
            line,
            self.doors,
            tls=context,
            begin_metrics=begin_metrics,
            looks=options.window_s > 0.0 and len(self._listeners) > 1,
        )
        self._thread = threading.Thread(target=self._shell.run, name="plink-hub", daemon=True)
        self._thread.start()
        self._shell.is_ready.wait()
        if self._shell.failure is not None:
            self.close()
            raise self._shell.failure

    def close(self) -> None:
        """Close all connections, end all threads and free all memory."""
        if self._thread is not None and self._shell is not None:
            self._shell.stop()
            self._thread.join()
            self._thread = None
        for loop in self._loops:
            loop.stop()
        self._loops = []
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def __enter__(self) -> Server:
        try:
            self.start()
        except BaseException:
            # Also where it is interrupted: threads of loops that are not stopped abort the process.
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _metrics(address: str) -> BeginMetrics:
    try:
        from plink.hub.serving import metrics  # noqa: PLC0415  an extra
    except ImportError:
        raise PlinkError(
            "metrics need prometheus_client", "pip install prometheus-client"
        ) from None
    host, port = parse_address(address, "the address of metrics")
    return lambda registry, doors: metrics.begin(registry, doors, host, port)


def _listening(address: str) -> socket.socket:
    host, port = parse_address(address, "a server's address")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PlinkError(
            f"cannot listen on {address}: {error.strerror or error}",
            "give an address of this host, and a port that is free or 0",
        ) from None
    return listener
