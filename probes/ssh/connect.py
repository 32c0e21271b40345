"""Opening SSH connections: one, through jump hosts, or many at once."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress

import paramiko

from probes.errors import HostError
from probes.ssh.config import Target
from probes.ssh.explain import explain
from probes.ssh.known_hosts import HostKeyPolicy, KnownHosts
from probes.ssh.options import SshOptions
from probes.ssh.session import Session

# Every failure is reported as a HostError; paramiko's own log would repeat it as a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_KEEPALIVE_S = 15


class Connector:
    """Opens the connections of one run, sharing known hosts and jump hosts among them."""

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self._known = KnownHosts()
        self._jumps: dict[tuple[Target, ...], paramiko.SSHClient] = {}
        self._jump_lock = threading.RLock()

    def connect(self, target: Target) -> Session:
        """One authenticated connection, its host key verified.

        Raises:
            HostError: naming the reason, with a hint where there is one.
        """
        client = self._client(target, target.jumps)
        return Session(target.name, client, _peer_address(client, target))

    def close(self) -> None:
        """Close the connections to the jump hosts."""
        for client in self._jumps.values():
            client.close()

    def _client(self, target: Target, jumps: tuple[Target, ...]) -> paramiko.SSHClient:
        client = paramiko.SSHClient()
        for key in self._known.keys_of(target.host_key_name, target.known_hosts_files):
            client.get_host_keys().add(target.host_key_name, key.get_name(), key)
        client.set_missing_host_key_policy(
            HostKeyPolicy(
                self._known,
                accept_new=target.accept_new_host_keys,
                files=target.known_hosts_files,
            )
        )
        try:
            # The port is 22 to paramiko because host_key_name already tells other ports.
            client.connect(
                target.host_key_name,
                port=22,
                username=target.user,
                # paramiko takes a list, as its documentation says and its types do not.
                key_filename=[file for file in target.identity_files if _is_readable(file)],  # type: ignore[arg-type]
                allow_agent=not target.identities_only,
                look_for_keys=not target.identities_only and not target.identity_files,
                sock=self._socket(target, jumps),
                timeout=self._options.timeout_s,
                banner_timeout=self._options.timeout_s,
                auth_timeout=self._options.timeout_s,
            )
        except Exception as error:
            client.close()
            raise explain(error, target, self._options.timeout_s) from None
        transport = client.get_transport()
        if transport is not None:
            transport.set_keepalive(_KEEPALIVE_S)
        return client

    def _socket(
        self, target: Target, jumps: tuple[Target, ...]
    ) -> socket.socket | paramiko.Channel | paramiko.ProxyCommand:
        if jumps:
            transport = self._jump_client(jumps).get_transport()
            if transport is None:
                raise paramiko.SSHException(f"jump host {jumps[-1].name} is gone")
            address = (target.hostname, target.port)
            return transport.open_channel(
                "direct-tcpip", address, ("", 0), timeout=self._options.timeout_s
            )
        if target.proxy_command is not None:
            return paramiko.ProxyCommand(target.proxy_command)
        connection = socket.create_connection(
            (target.hostname, target.port), timeout=self._options.timeout_s
        )
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _jump_client(self, jumps: tuple[Target, ...]) -> paramiko.SSHClient:
        # Reentrant: a jump host may itself be reached through jump hosts.
        with self._jump_lock:
            if jumps not in self._jumps:
                last = jumps[-1]
                self._jumps[jumps] = self._client(last, jumps[:-1] or last.jumps)
            return self._jumps[jumps]


def connect_all(
    targets: Sequence[Target],
    options: SshOptions,
    on_done: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Session], list[HostError]]:
    """Connect to all targets, at most `options.concurrency` handshakes at once.

    Returns:
        The sessions by host name, and the reasons for those that failed, both in target order.
        `on_done` is called after each. An interrupt closes what was opened.
    """
    connector = Connector(options)
    sessions: dict[str, Session] = {}
    failures: dict[str, HostError] = {}
    executor = ThreadPoolExecutor(max_workers=max(1, options.concurrency))
    try:
        futures = {executor.submit(connector.connect, target): target for target in targets}
        for future in as_completed(futures):
            name = futures[future].name
            try:
                sessions[name] = future.result()
            except HostError as error:
                failures[name] = error
            on_done()
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        close_all(sessions)
        raise
    executor.shutdown()
    names = [target.name for target in targets]
    return (
        {name: sessions[name] for name in names if name in sessions},
        [failures[name] for name in names if name in failures],
    )


def close_all(sessions: dict[str, Session]) -> None:
    """Close every session, whatever state it is in."""
    for session in sessions.values():
        with suppress(OSError, EOFError, paramiko.SSHException):
            session.close()


def _peer_address(client: paramiko.SSHClient, target: Target) -> str:
    """The address that the connection reached, or the name where something stands between."""
    transport = client.get_transport()
    if target.jumps or target.proxy_command is not None or transport is None:
        return target.hostname
    peer: tuple[str, int] = transport.getpeername()
    return peer[0].removeprefix("::ffff:")


def _is_readable(file: str) -> bool:
    try:
        with open(file, "rb"):  # noqa: PTH123
            return True
    except OSError:
        return False
