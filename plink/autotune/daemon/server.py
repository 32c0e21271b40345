"""The daemon's sockets: ranks come, prove the secret, report, and are given plans.

A viewer proves the same secret, and is shown the job as often as it asks.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.protocol import status
from plink.autotune.protocol.handshake import GREETING_BYTES, Proofs, parse_greeting
from plink.autotune.protocol.messages import (
    Join,
    Message,
    NewPlan,
    Paused,
    Report,
    Watch,
    from_json,
    to_json,
)
from plink.base.errors import PlinkError
from plink.base.text import printable
from plink.transport.door import Caller, Door, most_strangers, source_of
from plink.transport.encrypted import Encrypted
from plink.transport.folding import Folding
from plink.transport.frames import Channel, ProtocolError, payload_of
from plink.transport.listening import Acceptor, listen
from plink.transport.proofs import ANSWER_BYTES, NONCE_BYTES

_HANDSHAKE_TIMEOUT_S = 10.0
_RECEIVED_BYTES = 1 << 16
# A rank that does not read what it is sent is given up.
_MOST_UNSENT_BYTES = 64 << 20


@dataclass(frozen=True)
class Served:
    """A job, and what its ranks prove."""

    job: Job
    secret: bytes


Reader: TypeAlias = asyncio.StreamReader | Encrypted
Writer: TypeAlias = asyncio.StreamWriter | Encrypted


@dataclass(frozen=True)
class _Admitted:
    """A connection whose other end knows the secret of a job."""

    served: Served
    channel: Channel
    reader: Reader
    writer: Writer


class _Guest:
    """A connection of a rank or a viewer that has proven the secret."""

    def __init__(self, writer: Writer, channel: Channel) -> None:
        self.writer = writer
        self.channel = channel

    def send(self, payload: bytes) -> None:
        self.writer.write(self.channel.pack(payload))
        if self.writer.transport.get_write_buffer_size() > _MOST_UNSENT_BYTES:
            self.writer.transport.abort()


class Server:
    """Serves several jobs, each apart.

    Args:
        jobs: by name.
        say: told a sentence of each connection that is dropped.
        tls: with the daemon's certificate; None for clear connections.
    """

    def __init__(
        self,
        jobs: Mapping[str, Served],
        say: Callable[[str], None],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._jobs = jobs
        self._tls = tls
        self._say = say
        self._guests: dict[str, dict[int, _Guest]] = {name: {} for name in jobs}
        self._door = Door(most_strangers(sum(served.job.ranks for served in jobs.values())))
        self._folding = Folding(say)
        self.dropped = 0
        """Connections that were closed because of what the other end said, or did not say."""
        self.mute = 0
        """Those of them that had not said who they are."""

    @property
    def waiting(self) -> int:
        """Connections that have not proven the secret yet."""
        return self._door.count

    async def listen(self, host: str, port: int) -> Acceptor:
        """Begin to serve.

        Raises:
            PlinkError: the address cannot be listened on.
        """
        try:
            return await listen(self._converse, host, port, _RECEIVED_BYTES)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PlinkError(
                f"cannot listen on {host}:{port}: {reason}", "give an address of this host"
            ) from None

    def close(self) -> None:
        """Say which connections were dropped, after what accepts them is closed."""
        self._folding.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer, host = _peer(writer)
        caller = self._door.enter(source_of(host), writer.transport.abort)
        try:
            admitted = await self._admit(reader, writer, caller)
            if admitted is not None:
                await self._serve(admitted)
        except ProtocolError as error:
            self.dropped += 1
            self._folding.dropped(peer, caller.source, printable(str(error)))
        except (OSError, asyncio.IncompleteReadError):
            pass  # It has gone.
        except Exception as error:
            # Whatever one rank reported: others go on.
            self.dropped += 1
            self._folding.dropped(peer, caller.source, printable(repr(error)))

    async def _admit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: Caller
    ) -> _Admitted | None:
        """Authenticate a rank; None if it does not prove the secret."""
        _keep_alive(writer)
        try:
            begun = self._begin(reader, writer, caller)
            return await asyncio.wait_for(begun, _HANDSHAKE_TIMEOUT_S)
        except ProtocolError as error:
            why = printable(str(error))
        except asyncio.TimeoutError:
            why = "it said nothing in time"
        except (OSError, asyncio.IncompleteReadError):
            if not caller.is_dismissed:
                return None  # It has gone.
            why = "it said nothing while others waited"
        finally:
            self._door.left(caller)
        self.dropped += 1
        self.mute += not caller.has_greeted
        self._folding.dropped(_peer(writer)[0], caller.source, why)
        return None

    async def _begin(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, caller: Caller
    ) -> _Admitted:
        if self._tls is None:
            return await self._authenticate(reader, writer, caller)
        encrypted = Encrypted(self._tls, reader, writer)
        await encrypted.shake_hands()
        return await self._authenticate(encrypted, encrypted, caller)

    async def _authenticate(self, reader: Reader, writer: Writer, caller: Caller) -> _Admitted:
        name, nonce = parse_greeting(await reader.readexactly(GREETING_BYTES))
        if name not in self._jobs:
            raise ProtocolError(f"there is no job {name} here")
        self._door.greeted(caller)
        served = self._jobs[name]
        own = secrets.token_bytes(NONCE_BYTES)
        proofs = Proofs(served.secret, name, nonce + own)
        writer.write(own + proofs.of_daemon)
        proofs.check(await reader.readexactly(ANSWER_BYTES), proofs.of_rank)
        channel = Channel(proofs.session_key, is_server=True)
        return _Admitted(served, channel, reader, writer)

    async def _serve(self, admitted: _Admitted) -> None:
        job, channel = admitted.served.job, admitted.channel
        guests = self._guests[job.status.name]
        guest = _Guest(admitted.writer, channel)
        rank: int | None = None
        try:
            while received := await admitted.reader.read(_RECEIVED_BYTES):
                for data in channel.feed(received):
                    message = from_json(data, job.ranks)
                    if rank is None and isinstance(message, Watch):
                        shown = status.to_json(job.status)
                        guest.send(payload_of(shown))
                        continue
                    if rank is None:
                        rank = self._seat(job, guest, message)
                    self._take(job, rank, message)
        finally:
            if rank is not None and guests.get(rank) is guest:
                del guests[rank]
                job.left(time.time(), rank)

    def _seat(self, job: Job, guest: _Guest, message: Message) -> int:
        """Return the rank that has joined; an earlier connection of it has been given up."""
        if not isinstance(message, Join):
            raise ProtocolError("a rank did not say which one it is")
        guests = self._guests[job.status.name]
        if message.rank in guests:
            guests.pop(message.rank).writer.transport.abort()
        guests[message.rank] = guest
        return message.rank

    def _take(self, job: Job, rank: int, message: Message) -> None:
        now_s = time.time()
        if isinstance(message, Join) and message.rank == rank:
            self.send(job, job.joined(now_s, message))
        elif isinstance(message, Report):
            self.send(job, job.reported(now_s, rank, message))
        elif isinstance(message, NewPlan):
            self.send(job, job.told(now_s, message))
        elif isinstance(message, Paused):
            job.paused(rank, message)
        else:
            raise ProtocolError("a message that ranks do not send")

    def send(self, job: Job, outgoing: Outgoing) -> None:
        """Send a job's ranks what they are to know."""
        guests = self._guests[job.status.name]
        for rank, message in outgoing:
            payload = payload_of(to_json(message))
            for guest in list(guests.values()) if rank is None else _only(guests.get(rank)):
                guest.send(payload)


def _only(guest: _Guest | None) -> list[_Guest]:
    return [] if guest is None else [guest]


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _peer(writer: asyncio.StreamWriter) -> tuple[str, str]:
    """Address and port, for people, and the address."""
    address = writer.get_extra_info("peername")
    return (f"{address[0]}:{address[1]}", address[0]) if address else ("somebody", "")
