"""Agent's end of a reverse connection: runs commands for a caller that proves the shared secret."""

from __future__ import annotations

import hmac
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import paramiko

from plink.probes.calls.keys import Keys
from plink.probes.calls.transport import CallTransport
from plink.probes.remote.processes import end_group

# In the environment of every command: what the agent calls its host.
NAME_VARIABLE = "PLINK_AGENT_NAME"

_CHUNK = 1 << 16
_HANDSHAKE_S = 15.0
# plink shakes hands with a few at once; who hung up earlier would have to queue again.
_TURN_S = 60.0
_LOOK_EVERY_S = 0.2
# What has lost its input gets so long to end by itself.
_GOODBYE_S = 5.0


class Call:
    """Connection to plink, open until either end closes it.

    Args:
        connection: that this host has opened.
        keys: keys of the secret.
        name: name of this host.

    Raises:
        OSError, EOFError, paramiko.SSHException: the other end does not speak SSH, or goes away.
    """

    def __init__(self, connection: socket.socket, keys: Keys, name: str) -> None:
        self._transport = CallTransport(connection)
        self._transport.add_server_key(keys.agent)
        self._server = _SshServer(keys, name)
        try:
            self._transport.banner_timeout = _TURN_S
            self._transport.auth_timeout = _HANDSHAKE_S
            self._transport.start_server(server=self._server)
            self._transport.rest(gives_signs=True)
        except BaseException:
            self._transport.close()
            raise

    @property
    def was_trusted(self) -> bool:
        """Whether plink has proved that it knows the secret."""
        return self._server.trusted.is_set()

    def wait(self) -> None:
        """Wait until the call ends: closed by plink, or not authenticated in time."""
        end_s = time.monotonic() + _HANDSHAKE_S
        while not self._server.trusted.wait(_LOOK_EVERY_S):
            if not self._transport.is_active() or time.monotonic() > end_s:
                self._transport.close()
                break
        self._transport.join()

    def close(self) -> None:
        """End the call and all commands that run in it."""
        self._transport.close()


class _SshServer(paramiko.ServerInterface):
    """SSH server of an agent, which lets the owner of one key run commands and nothing else."""

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
        threading.Thread(target=_serve, args=serving, daemon=True).start()
        return True


def _serve(
    channel: paramiko.Channel, process: subprocess.Popen[bytes], asking: threading.Lock
) -> None:
    """Copy input and output of a command until it ends, then send its exit status."""
    # Not before plink has heard that the command has begun: it takes an earlier end for a refusal.
    # What it answers is read by the thread that tells it so, and only afterwards.
    with asking, suppress(OSError, EOFError, paramiko.SSHException):
        channel.get_transport().global_request("begun@plink", wait=True)
    pipes = process.stdin, process.stdout, process.stderr
    stdin, stdout, stderr = (pipe for pipe in pipes if pipe is not None)
    reader = threading.Thread(target=_hand_in, args=(channel, process, stdin), daemon=True)
    writers = [
        threading.Thread(target=_hand_out, args=(stream, send), daemon=True)
        for stream, send in ((stdout, channel.sendall), (stderr, channel.sendall_stderr))
    ]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    status = process.wait()
    with suppress(OSError, EOFError, paramiko.SSHException):
        # A command that a signal has killed has no status, as with sshd.
        if status >= 0:
            channel.send_exit_status(status)
        channel.close()


def _hand_in(channel: paramiko.Channel, process: subprocess.Popen[bytes], stdin: IO[bytes]) -> None:
    with suppress(OSError), stdin:
        while chunk := channel.recv(_CHUNK):
            rest = memoryview(chunk)
            while rest:
                rest = rest[stdin.write(rest) :]
    if channel.closed or not channel.get_transport().is_active():
        # Its input has ended and nobody listens any more.
        end_group(process, _GOODBYE_S, _GOODBYE_S)


def _hand_out(stream: IO[bytes], send: Callable[[bytes], object]) -> None:
    with suppress(OSError, EOFError, paramiko.SSHException), stream:
        while chunk := stream.read(_CHUNK):
            send(chunk)
