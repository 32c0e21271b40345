"""Ranks that are not there: one process that says to the daemon what they all would."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plink.autotune.protocol.handshake import Proofs, greeting
from plink.autotune.protocol.identity import Identity
from plink.autotune.protocol.messages import Join, NewPlan, Report, from_json, to_json
from plink.autotune.tuner.interface import Floats, Window
from plink.transport.frames import Channel, payload_of
from plink.transport.proofs import CHALLENGE_BYTES, NONCE_BYTES

JOB = "job"
COLLECTIVES = 10


@dataclass
class ReportingRank:
    """One connection.

    Args:
        rank: in the plan.
        ranks: of the job.
        secret: of the job.
    """

    rank: int
    ranks: int
    secret: bytes
    plan: NewPlan | None = None
    plan_at_s: float = 0.0
    _channel: Channel = field(init=False)
    _reader: asyncio.StreamReader = field(init=False)
    _writer: asyncio.StreamWriter = field(init=False)

    async def join(self, port: int, plan: Identity) -> None:
        """Connect, prove, say what is in force."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        nonce = secrets.token_bytes(NONCE_BYTES)
        self._writer.write(greeting(JOB, nonce))
        challenge = await self._reader.readexactly(CHALLENGE_BYTES)
        proofs = Proofs(self.secret, JOB, nonce + challenge[:NONCE_BYTES])
        proofs.check(challenge[NONCE_BYTES:], proofs.of_daemon)
        self._writer.write(proofs.of_rank)
        self._channel = Channel(proofs.session_key, is_server=False)
        join = Join(self.rank, self.ranks, f"h{self.rank}", plan, plan)
        self._writer.write(self._channel.pack(payload_of(to_json(join))))
        await self._writer.drain()

    async def say(self, payload: bytes) -> None:
        """Send a report."""
        self._writer.write(self._channel.pack(payload))
        await self._writer.drain()

    async def hear(self, *, reads: bool) -> None:
        """Take a plan; only one rank of all here needs to read it.

        Args:
            reads: take it apart, as every rank does on its own host.
        """
        length = int.from_bytes(await self._reader.readexactly(4), "big")
        rest = await self._reader.readexactly(16 + length)
        self.plan_at_s = time.time()
        if reads:
            (message,) = self._channel.feed(length.to_bytes(4, "big") + rest)
            taken = from_json(message, self.ranks)
            self.plan = taken if isinstance(taken, NewPlan) else None
        else:
            # The number of the message counts, not what is in it.
            self._channel._received += 1

    def close(self) -> None:
        """Go."""
        self._writer.close()


def payloads(window: Window, plan: Identity, number: int) -> list[bytes]:
    """What each rank reports of a window."""
    begin = COLLECTIVES * number
    seconds = float(window.iteration_s.sum())
    iterations = len(window.iteration_s)
    made = []
    for rank in range(len(window.sent_bytes)):
        nothing = np.zeros(len(window.sent_bytes))
        peers = {
            "sent_bytes": iterations * window.sent_bytes[rank],
            "busy_s": iterations * window.busy_s[rank],
            "waited_s": nothing,
            "rtt_s": np.full(len(nothing), window.rtt_s[rank]),
            "rate_bytes_s": nothing,
            "retransmissions": window.retransmissions[rank],
        }
        report = Report(
            plan,
            begin,
            begin + COLLECTIVES,
            seconds,
            window.iteration_s,
            round(iterations * window.sent_bytes.sum()),
            peers,
        )
        made.append(payload_of(to_json(report)))
    return made


def window_of(sent_bytes: Floats, slow: float, random: np.random.Generator) -> Window:
    """Ten iterations, in which all flows of one rank take `slow` times as long as usual."""
    busy_s = np.where(sent_bytes > 0.0, 0.3, 0.0) * random.lognormal(0.0, 0.15, sent_bytes.shape)
    busy_s[7] *= slow
    busy_s[:, 7] *= slow
    iteration_s = (0.1 + 0.3 * slow) * random.lognormal(0.0, 0.05, 10)
    rtt_s = np.full(len(sent_bytes), 1e-4)
    return Window(0, iteration_s, sent_bytes, busy_s, np.zeros_like(sent_bytes), rtt_s)


async def all_of(ranks: Sequence[ReportingRank], said: Sequence[bytes]) -> None:
    """All report at once, as after a point."""
    await asyncio.gather(*(rank.say(one) for rank, one in zip(ranks, said, strict=True)))
