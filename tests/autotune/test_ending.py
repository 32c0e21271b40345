"""Connections that come while a server ends are closed, however far it is with them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import warnings
from collections.abc import Awaitable, Callable

import pytest
from prometheus_client import CollectorRegistry

from autotune.serving import HOST, SECRET, TIMEOUT_S, switching
from autotune.test_server import closed
from plink.autotune.daemon.server import Served, Server
from plink.transport.listening import Acceptor
from plink.transport.scraping import Scraping


async def ports_of_raw_sockets() -> Acceptor:
    """As the hub's, which does without asyncio's streams."""

    async def serve(connection: socket.socket, _: tuple[str, int]) -> None:
        await asyncio.get_running_loop().sock_recv(connection, 1)

    return Acceptor([socket.create_server((HOST, 0))], serve)


def daemon() -> Awaitable[Acceptor]:
    return Server({"job": Served(switching(2), SECRET)}, pytest.fail).listen(HOST, 0)


def metrics() -> Awaitable[Acceptor]:
    return Scraping(CollectorRegistry()).listen(HOST, 0)


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize("listen", [ports_of_raw_sockets, daemon, metrics])
def test_who_calls_while_a_server_ends_is_hung_up_on(
    listen: Callable[[], Awaitable[Acceptor]], turns: int
) -> None:
    """It ends so many turns of the loop after the call, whatever is under way then."""

    async def serve() -> None:
        acceptor = await listen()
        # Without a turn of the loop: the kernel answers.
        with socket.create_connection(acceptor.address, TIMEOUT_S) as caller:
            for _ in range(turns):
                await asyncio.sleep(0)
            await acceptor.close()
            assert closed(caller)

    # What earlier tests have left is not charged to this one.
    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(serve())
        gc.collect()
    assert [str(one.message) for one in warned] == []


def test_a_task_that_forgets_that_it_was_cancelled_is_cancelled_again() -> None:
    has_begun, forgot = asyncio.Event(), asyncio.Event()

    async def serve(_: socket.socket, __: object) -> None:
        has_begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        forgot.set()
        await asyncio.Event().wait()

    async def end() -> None:
        with socket.create_server((HOST, 0)) as listener:
            acceptor = Acceptor([listener], serve)
            with socket.create_connection(acceptor.address, TIMEOUT_S):
                await has_begun.wait()
                await asyncio.wait_for(acceptor.close(), TIMEOUT_S)

    asyncio.run(end())
    assert forgot.is_set()
