"""Plink's side of connections that agents open: authentication, host names, SSH sessions."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import paramiko

from plink.probes.calls.agent import NAME_VARIABLE, CallTransport, Keys, derive_keys
from plink.probes.errors import HostError, HostListError, OptionError, ProbesError
from plink.probes.hosts.hostlist import ListedHost, check_name
from plink.probes.options import ListenOptions
from plink.probes.remote.session import Opener
from plink.probes.ssh.session import BREAKING, SshSession, close_quietly

_BACKLOG = 1024
_HANDSHAKE_S = 15.0
_ACCEPT_PAUSE_S = 0.1
_USER = "plink"
_SHOWN = 3


class Listener:
    """Server to which agents connect: it authenticates them and holds one SSH session per host.

    Attributes:
        concurrency: number of hosts that a run asks at once.

    Raises:
        OptionError: nothing can listen there.
    """

    def __init__(self, options: ListenOptions) -> None:
        self.concurrency = options.concurrency
        self._keys: Keys = derive_keys(options.secret)
        self._changed = threading.Condition()
        self._sessions: dict[str, SshSession] = {}
        self._refused: list[str] = []
        self._is_closed = False
        # All addresses of both families, where none is named.
        is_dual = not options.host and socket.has_dualstack_ipv6()
        try:
            self._socket = socket.create_server(
                (options.host, options.port),
                family=socket.AF_INET6 if is_dual or ":" in options.host else socket.AF_INET,
                backlog=_BACKLOG,
                dualstack_ipv6=is_dual,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            place = f"{options.host or '*'} port {options.port}"
            raise OptionError(f"cannot listen on {place} ({reason})") from None
        self.port: int = self._socket.getsockname()[1]
        # The limit on open files is often 1,024.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._handshakes = ThreadPoolExecutor(max_workers=options.concurrency)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def hosts(self) -> list[ListedHost]:
        """Connected hosts, sorted by name."""
        with self._changed:
            names = sorted(name for name, session in self._sessions.items() if session.is_open)
        return [ListedHost(name, place="callers") for name in names]

    def refusals(self) -> list[str]:
        """Return the first three different reasons for which agents were refused."""
        with self._changed:
            return list(self._refused)

    def describe_refusals(self) -> str:
        """Return why agents were refused, as text in parentheses; empty if none was."""
        return f" (turned away: {'; '.join(self.refusals())})" if self.refusals() else ""

    def wait_until(self, enough: Callable[[set[str]], bool], limit_s: float) -> None:
        """Wait until `enough` accepts the names of the connected hosts, or `limit_s` has passed."""
        end_s = time.monotonic() + limit_s
        with self._changed:
            while not enough(set(self._sessions)) and (left_s := end_s - time.monotonic()) > 0:
                # Ctrl-C is noticed between waits.
                self._changed.wait(min(left_s, 0.5))

    def session(self, name: str) -> SshSession | None:
        """Return the SSH session with a host by name; None if its agent has not connected."""
        with self._changed:
            return self._sessions.get(name)

    def close(self) -> None:
        """Stop listening and close the connections of all agents."""
        with self._changed:
            self._is_closed = True
            sessions = list(self._sessions.values())
        # Closing alone does not wake the thread that accepts.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        # Those that wait close their connections.
        self._handshakes.shutdown(wait=False)
        for session in sessions:
            session.close()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection, peer = self._socket.accept()
            except OSError:
                # An agent hung up, or there are no descriptors left for now.
                time.sleep(_ACCEPT_PAUSE_S)
                continue
            try:
                self._handshakes.submit(self._take, connection, peer[0].removeprefix("::ffff:"))
            except RuntimeError:
                # Closed meanwhile.
                connection.close()

    def _take(self, connection: socket.socket, address: str) -> None:
        if self._is_closed:
            connection.close()
            return
        transport = None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport = CallTransport(connection)
            name = self._greet(transport, address)
            session = SshSession(name, transport, address, None)
            with self._changed:
                before = self._sessions.get(name)
                if self._is_closed or (before is not None and before.is_open):
                    raise HostListError(
                        f"{address}: another host called {name} is connected already"
                    )
                self._sessions[name] = session
                self._changed.notify_all()
        except (*BREAKING, ProbesError) as error:
            close_quietly(transport or connection)
            connection.close()
            reason = str(error) or type(error).__name__
            if not isinstance(error, HostListError):
                reason = f"{address}: {reason}"
            with self._changed:
                # An agent that is refused connects again and again.
                if reason not in self._refused and len(self._refused) < _SHOWN:
                    self._refused.append(reason)

    def _greet(self, transport: CallTransport, address: str) -> str:
        """Authenticate plink and an agent to each other; return the host name that it gives."""
        transport.banner_timeout = transport.auth_timeout = _HANDSHAKE_S
        transport.channel_timeout = _HANDSHAKE_S
        transport.start_client(timeout=_HANDSHAKE_S)
        if transport.get_remote_server_key() != self._keys.agent:
            raise paramiko.SSHException("its agent has another secret")
        transport.auth_publickey(_USER, self._keys.coordinator)
        transport.rest(gives_signs=False)
        asked = SshSession(address, transport, address, None)
        done = asked.run(f'printf %s "${NAME_VARIABLE}"', timeout_s=_HANDSHAKE_S)
        name = done.stdout.decode(errors="replace")
        check_name(name, f"the agent at {address}")
        return name


def gather(
    options: ListenOptions,
    expected: int,
    on_listening: Callable[[int], None] = lambda _: None,
    on_call: Callable[[int], None] = lambda _: None,
) -> Listener:
    """Listen until `expected` agents (or two in `wait_s`) have connected; return the listener.

    Args:
        on_listening: called with the port, once agents may call.
        on_call: called with the number of agents that have called, whenever that changes.

    Raises:
        OptionError: nothing can listen there.
        HostListError: fewer than two have called.
    """
    listener = Listener(options)
    try:
        on_listening(listener.port)

        def enough(names: set[str]) -> bool:
            on_call(len(names))
            return len(names) >= expected

        listener.wait_until(enough, options.wait_s)
        if len(listener.hosts) < 2:
            raise HostListError(
                f"{len(listener.hosts)} of {expected} agents have connected within "
                f"{options.wait_s:g} s{listener.describe_refusals()}",
                f"start plink agent --join ADDRESS:{listener.port} on every host, with the secret",
            )
    except BaseException:
        listener.close()
        raise
    return listener


class CallOpener(Opener):
    """Opener of a run's SSH sessions over connections that the hosts' agents open.

    Args:
        wait_s: seconds to wait for agents that have not called.
    """

    def __init__(self, listener: Listener, wait_s: float) -> None:
        self._listener = listener
        self._wait_s = wait_s

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Wait until the agents of all listed hosts have connected, or the time limit is over."""
        wanted = {host.name for host in listed}
        self._listener.wait_until(lambda names: wanted <= names, self._wait_s)

    def open(self, host: ListedHost) -> SshSession:
        """Return the SSH session with a host; raise HostError if its agent has not connected."""
        session = self._listener.session(host.name)
        if session is not None:
            return session
        raise HostError(
            host.name,
            f"its agent has not connected to plink within {self._wait_s:g} s"
            f"{self._listener.describe_refusals()}",
            f"start plink agent --join ADDRESS:{self._listener.port} there, with the same secret",
        )

    def close(self) -> None:
        """Stop listening and close the connections of all agents."""
        self._listener.close()
