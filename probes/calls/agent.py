"""Agent on a host that plink cannot reach: it calls plink, which runs commands over the call."""

from __future__ import annotations

import hmac
import io
import logging
import math
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from plink.probes.errors import OptionError
from plink.probes.remote.session import end_group
from plink.probes.ssh.session import BREAKING

# Every failure is told in a sentence; paramiko's own log would repeat it as a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_SIGN_EVERY_S = 15
# How late a sign of life may come.
_LATE_S = 5.0
# Nothing has to be looked for; should a wake-up ever be missed, this is how long it matters.
_LOOK_AT_IDLE_EVERY_S = 60.0
_PROBE_EVERY_S = 5


class CallTransport(paramiko.Transport):
    """SSH connection to or from an agent that spares the processor while it waits for data.

    paramiko's own looks ten times a second whether this end has closed it; this one is woken.
    """

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._connection = connection

    def rest(self, *, gives_signs: bool) -> None:
        """Make reads block until data arrive, to spare the processor; keep-alive finds a dead peer.

        For the time after the hand-shake, which notices by looking often that it takes too long.

        Args:
            gives_signs: whether this end sends signs of life, which keep proxies from ending the
                call; one end of each is enough.
        """
        tcp = socket.IPPROTO_TCP
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connection.setsockopt(tcp, socket.TCP_KEEPIDLE, _SIGN_EVERY_S)
        self._connection.setsockopt(tcp, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
        if gives_signs:
            self.set_keepalive(_SIGN_EVERY_S)
        self._connection.settimeout(_LATE_S if gives_signs else _LOOK_AT_IDLE_EVERY_S)

    def close(self) -> None:
        """End the connection and everything that runs over it."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        super().close()


_SEED_BYTES = 32


@dataclass(frozen=True)
class Keys:
    """SSH keys of all agents, and of plink, which derive from a shared secret."""

    agent: paramiko.Ed25519Key
    coordinator: paramiko.Ed25519Key


def derive_keys(secret: bytes) -> Keys:
    """Derive the SSH keys of plink and of its agents from a secret that both have."""
    keys = []
    for purpose in (b"plink agent", b"plink coordinator"):
        seed = HKDF(algorithm=SHA256(), length=_SEED_BYTES, salt=None, info=purpose).derive(secret)
        key = Ed25519PrivateKey.from_private_bytes(seed)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        keys.append(paramiko.Ed25519Key.from_private_key(io.StringIO(text)))
    return Keys(*keys)


# In the environment of every command: what the agent calls its host.
NAME_VARIABLE = "PLINK_AGENT_NAME"

_CHUNK = 1 << 16
_HANDSHAKE_S = 15.0
# plink shakes hands with a few at once; who hung up earlier would have to queue again.
_TURN_S = 60.0
_LOOK_EVERY_S = 0.2
# What has lost its input gets so long to end by itself.
_GOODBYE_S = 5.0


class _SshServer(paramiko.ServerInterface):
    """SSH server of an agent: whoever has plink's key may run commands, and nothing else."""

    def __init__(self, keys: Keys, name: str) -> None:
        self.trusted = threading.Event()
        self._coordinator = keys.coordinator.asbytes()
        self._environment = {**os.environ, NAME_VARIABLE: name}
        # paramiko keeps what it waits for once for each connection.
        self._asking = threading.Lock()

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002
        if not hmac.compare_digest(key.asbytes(), self._coordinator):
            return int(paramiko.common.AUTH_FAILED)
        return int(paramiko.common.AUTH_SUCCESSFUL)

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002
        # Only who has logged in opens channels.
        self.trusted.set()
        if kind == "session":
            return int(paramiko.common.OPEN_SUCCEEDED)
        return int(paramiko.common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                ["sh", "-c", command],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                bufsize=0,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError):
            return False
        serving = (channel, process, self._asking)
        threading.Thread(target=_relay_command, args=serving, daemon=True).start()
        return True


def _relay_command(
    channel: paramiko.Channel, process: subprocess.Popen[bytes], asking: threading.Lock
) -> None:
    """Relay a command's input and output over SSH until it ends, then send its exit status."""
    # Not before plink has heard that the command has begun: it takes an earlier end for a refusal.
    # What it answers is read by the thread that tells it so, and only afterwards.
    with asking, suppress(*BREAKING):
        channel.get_transport().global_request("begun@plink", wait=True)
    pipes = process.stdin, process.stdout, process.stderr
    stdin, stdout, stderr = (pipe for pipe in pipes if pipe is not None)
    threading.Thread(target=_hand_in, args=(channel, process, stdin), daemon=True).start()
    aside = threading.Thread(target=_hand_out, args=(stderr, channel.sendall_stderr), daemon=True)
    aside.start()
    _hand_out(stdout, channel.sendall)
    aside.join()
    status = process.wait()
    with suppress(*BREAKING):
        # A command that a signal has killed has no status, as with sshd.
        if status >= 0:
            channel.send_exit_status(status)
        channel.close()


def _hand_in(channel: paramiko.Channel, process: subprocess.Popen[bytes], stdin: IO[bytes]) -> None:
    with suppress(*BREAKING), stdin:
        while chunk := channel.recv(_CHUNK):
            rest = memoryview(chunk)
            while rest:
                rest = rest[stdin.write(rest) :]
    if channel.closed or not channel.get_transport().is_active():
        # Its input has ended and nobody listens any more.
        end_group(process, _GOODBYE_S, _GOODBYE_S)


def _hand_out(stream: IO[bytes], send: Callable[[bytes], object]) -> None:
    with suppress(*BREAKING), stream:
        while chunk := stream.read(_CHUNK):
            send(chunk)


_CONNECT_S = 10.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0

_LEFT = "left"


@dataclass(frozen=True)
class CallTarget:
    """Address at which plink listens for an agent's calls, the SSH keys, and the agent's host name.

    Args:
        host, port: where plink listens.
    """

    host: str
    port: int
    keys: Keys
    name: str


@dataclass(frozen=True)
class CallStatus:
    """State of an agent's connection to plink (waiting, connected, left, refused), for its log.

    Args:
        state: `waiting`, `connected`, `left` (plink was there, and has gone) or `refused`.
        message: the same for a person.
    """

    state: str
    message: str


def serve(
    home: CallTarget,
    say: Callable[[CallStatus], None],
    *,
    once: bool = False,
    wait_s: float = math.inf,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Connect an agent to plink and serve it, again after each session, or once; until interrupted.

    Args:
        once: end after the first call in which the other end knew the secret.
        wait_s: seconds to call in vain, each time.

    Raises:
        OptionError: nobody was there for so long.
    """
    pause_s, since_s = _FIRST_PAUSE_S, time.monotonic()
    reported: CallStatus | None = None
    while True:
        outcome = _call(home, say)
        was_served = outcome.state == _LEFT
        if was_served and once:
            return
        if outcome != reported:
            say(outcome)
        reported = None if was_served else outcome
        if was_served:
            since_s = time.monotonic()
        elif time.monotonic() - since_s >= wait_s:
            raise OptionError(
                f"no plink with the same secret listened at {home.host} port {home.port} within "
                f"{wait_s:g} s"
            )
        pause_s = _FIRST_PAUSE_S if was_served else min(_LONGEST_PAUSE_S, 2 * pause_s)
        # Hosts that were started together do not call together for ever.
        pause(pause_s * random.uniform(0.5, 1.0))


def _wait_for_end(transport: CallTransport, trusted: threading.Event) -> None:
    """Wait until the connection to plink ends, or authentication takes over 15 seconds."""
    end_s = time.monotonic() + _HANDSHAKE_S
    while not trusted.wait(_LOOK_EVERY_S):
        if not transport.is_active() or time.monotonic() > end_s:
            return
    transport.join()


def _call(home: CallTarget, say: Callable[[CallStatus], None]) -> CallStatus:
    """Connect to plink once, serve it until the connection ends, and return how it ended."""
    where = f"{home.host} port {home.port}"
    server = _SshServer(home.keys, home.name)
    try:
        with socket.create_connection((home.host, home.port), timeout=_CONNECT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(None)
            transport = CallTransport(connection)
            try:
                transport.add_server_key(home.keys.agent)
                transport.banner_timeout = _TURN_S
                transport.auth_timeout = _HANDSHAKE_S
                transport.start_server(server=server)
                transport.rest(gives_signs=True)
                say(CallStatus("connected", f"connected to {where}"))
                _wait_for_end(transport, server.trusted)
            finally:
                transport.close()
    except BREAKING as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return CallStatus("waiting", f"waiting for {where} ({reason.lower()})")
    if not server.trusted.is_set():
        return CallStatus("refused", f"plink at {where} has another secret, or refuses this host")
    return CallStatus(_LEFT, f"{where} has gone; waiting for the next call")
