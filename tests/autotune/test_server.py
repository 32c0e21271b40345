"""A daemon on loopback, and ranks that are honest, strangers, or hostile."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
from collections.abc import Iterator

import pytest

from autotune.reporting import first, join, report
from autotune.serving import HOST, SECRET, TIMEOUT_S, plan_of, serving, switching
from plink.autotune.daemon.server import Served
from plink.autotune.protocol.handshake import Proofs, greeting
from plink.autotune.protocol.identity import Identity
from plink.autotune.protocol.messages import Ask, Join, NewPlan, to_json
from plink.autotune.ranks.client import Client
from plink.autotune.ranks.settings import Settings
from plink.base.replacing import replace
from plink.transport.frames import Channel, payload_of
from plink.transport.proofs import ANSWER_BYTES, CHALLENGE_BYTES, NONCE_BYTES
from plink.transport.tls import Tls
from support.ports import reserved_port

RANKS = 2
FIRST = first(plan_of(RANKS).forest)
NONCE = b"n" * NONCE_BYTES


class Rank:
    """A rank without an engine: it reports when told, and takes what it is given."""

    def __init__(
        self,
        rank: int,
        port: int,
        job: str = "job",
        secret: bytes = SECRET,
        tls: Tls | None = None,
    ) -> None:
        self.rank = rank
        self.plan = FIRST
        self.held: queue.Queue[NewPlan] = queue.Queue()
        self.joins: queue.Queue[Join] = queue.Queue()
        self.known: dict[Identity, NewPlan] = {}
        self._begin = 0
        self._client = Client(
            Settings(HOST, port, job),
            secret,
            RANKS,
            join=self._join,
            held=self.held.put,
            find=self._find,
            tls=tls,
        )
        self._client.start()

    def report(self) -> None:
        self._begin += 10
        made = report(self.rank, self.plan, RANKS, self._begin)
        self._client.submit(lambda: made)

    def take(self) -> NewPlan:
        """Wait for a plan, which is in force from then on."""
        plan = self.held.get(timeout=TIMEOUT_S)
        self.known[plan.identity] = plan
        self.plan = plan.identity
        return plan

    def close(self) -> None:
        self._client.close()

    def _join(self) -> Join:
        made = join(self.rank, self.plan, RANKS)
        self.joins.put(made)
        return made

    def _find(self, asked: Ask) -> NewPlan | None:
        return self.known.get(asked.plan)


@contextlib.contextmanager
def ranks(
    port: int, job: str = "job", secret: bytes = SECRET, tls: Tls | None = None
) -> Iterator[list[Rank]]:
    with contextlib.ExitStack() as stack:
        them = []
        for rank in range(RANKS):
            them.append(Rank(rank, port, job, secret, tls))
            stack.callback(them[-1].close)
        for one in them:
            one.joins.get(timeout=TIMEOUT_S)
        yield them


def next_plan(them: list[Rank]) -> NewPlan:
    """Report until the daemon has a new plan; what is said before all are there does not count."""
    while True:
        for one in them:
            one.report()
        with contextlib.suppress(queue.Empty):
            plan = them[0].held.get(timeout=0.2)
            them[0].held.put(plan)
            plans = [one.take() for one in them]
            assert {plan.identity for plan in plans} == {plan.identity}
            return plan


def test_ranks_get_one_plan_after_the_other_and_another_daemon_goes_on() -> None:
    said: list[str] = []
    with reserved_port(HOST) as port:
        with serving({"job": Served(switching(RANKS), SECRET)}, said, port), ranks(port) as them:
            assert next_plan(them).identity.number == 1
            assert next_plan(them).identity.number == 2
        assert said == []
        with (
            ranks_of(them, port) as again,
            serving({"job": Served(switching(RANKS), SECRET)}, said, port),
        ):
            assert next_plan(again).identity.number > 2
    assert said == []


def test_a_client_that_is_closed_again_leaves_the_descriptors_of_others_alone() -> None:
    with serving({"job": Served(switching(RANKS), SECRET)}, []) as port:
        rank = Rank(0, port)
        rank.close()
        # These take the numbers of the client's own.
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        with os.fdopen(read_end, "rb", 0) as reading, os.fdopen(write_end, "wb", 0):
            rank.report()
            rank.close()
            assert reading.read() is None


@contextlib.contextmanager
def ranks_of(before: list[Rank], port: int) -> Iterator[list[Rank]]:
    """Ranks that hold what others held, and call where nobody answers yet."""
    with contextlib.ExitStack() as stack:
        them = []
        for one in before:
            rank = Rank(one.rank, port)
            rank.plan, rank.known = one.plan, one.known
            stack.callback(rank.close)
            them.append(rank)
        yield them


def test_jobs_of_one_daemon_are_apart() -> None:
    said: list[str] = []
    other_secret = SECRET[::-1]
    one, other = switching(RANKS, "one"), switching(RANKS, "other")
    jobs = {"one": Served(one, SECRET), "other": Served(other, other_secret)}
    with serving(jobs, said) as port:
        with ranks(port, "one") as of_one, ranks(port, "other", other_secret) as of_other:
            assert next_plan(of_one).identity.number == 1
            assert all(rank.held.empty() for rank in of_other)
            assert next_plan(of_other).identity.number == 1
            assert next_plan(of_one).identity.number == 2
        assert (one.status.plan, other.status.plan) == (2, 1)
        # The one's secret opens nothing of the other's.
        assert admitted(port, "other", SECRET) is None
    assert any("another secret" in sentence for sentence in said)


def admitted(
    port: int, job: str = "job", secret: bytes = SECRET
) -> tuple[socket.socket, Channel] | None:
    """A connection that has said its proof; None where the daemon's own is wrong."""
    connection = socket.create_connection((HOST, port), TIMEOUT_S)
    connection.sendall(greeting(job, NONCE))
    challenge = connection.recv(CHALLENGE_BYTES, socket.MSG_WAITALL)
    proofs = Proofs(secret, job, NONCE + challenge[:NONCE_BYTES])
    if challenge[NONCE_BYTES:] != proofs.of_daemon:
        connection.sendall(b"x" * ANSWER_BYTES)
        assert connection.recv(1) == b""
        connection.close()
        return None
    connection.sendall(proofs.of_rank)
    return connection, Channel(proofs.session_key, is_server=False)


def closed(connection: socket.socket) -> bool:
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass
    return True


def message(**changes: object) -> dict[str, object]:
    return {**to_json(join(0, FIRST, RANKS)), **changes}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n".ljust(200), "not a rank of this version"),
        (greeting("nobody", NONCE), "there is no job nobody here"),
    ],
)
def test_strangers_are_dropped_with_a_sentence(sent: bytes, why: str) -> None:
    said: list[str] = []
    with serving({"job": Served(switching(RANKS), SECRET)}, said) as port:
        with socket.create_connection((HOST, port), TIMEOUT_S) as connection:
            connection.sendall(sent)
            assert closed(connection)
        still_serves(port)
    assert len(said) == 1
    assert why in said[0]


def still_serves(port: int) -> None:
    with ranks(port) as them:
        next_plan(them)


def test_who_knows_the_secret_and_misbehaves_is_dropped_alone() -> None:
    said: list[str] = []
    wrong: list[tuple[list[dict[str, object]], str]] = [
        ([message(rank=RANKS)], "rank is 2, expected a whole number from 0 to 1"),
        ([message(ranks=3)], "ranks is 3, expected 2"),
        ([message(what="rule")], "what is"),
        ([to_json(Ask(FIRST))], "did not say which one it is"),
        ([message(), to_json(Ask(FIRST))], "ranks do not send"),
        ([message(), to_json(replace(report(0, FIRST, RANKS), end=1 << 60))], "end is"),
    ]
    for messages, why in wrong:
        with serving({"job": Served(switching(RANKS), SECRET)}, said) as port:
            found = admitted(port)
            assert found is not None
            connection, channel = found
            with connection:
                connection.sendall(b"".join(channel.pack(payload_of(each)) for each in messages))
                assert closed(connection)
            assert why in said[-1]
            still_serves(port)
    with serving({"job": Served(switching(RANKS), SECRET)}, said) as port:
        connection, channel = admitted(port) or pytest.fail("not admitted")
        with connection:
            connection.sendall(b"\xff" * 100)
            assert closed(connection)
        assert "at most" in said[-1]
        still_serves(port)
    assert len(said) == len(wrong) + 1


def test_a_rank_that_comes_twice_is_its_newest_connection() -> None:
    said: list[str] = []
    with serving({"job": Served(switching(RANKS), SECRET)}, said) as port:
        connection, channel = admitted(port) or pytest.fail("not admitted")
        with connection:
            connection.sendall(channel.pack(payload_of(message())))
            with ranks(port) as them:
                assert closed(connection)
                next_plan(them)
    assert said == []
