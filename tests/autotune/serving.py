"""A daemon in a thread of the test's process, and one that is a process and can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping

from autotune.deciding import Switching
from plink.autotune.job import Job
from plink.autotune.server import Served, Server
from plink.files.plan import Plan, PlanRank
from plink.plans.forest import Forest
from plink.torch.forests import flat

SECRET = b"0123456789abcdef0123456789abcdef"


def plan_of(ranks: int, forest: Forest | None = None) -> Plan:
    """A plan for ranks that all are on this host."""
    places = [PlanRank(socket.gethostname(), "192.0.2.1")] * ranks
    return Plan("flat", places, forest or flat(ranks), 1000)


def switching(ranks: int, name: str = "job") -> Job:
    return Job(name, plan_of(ranks), Switching)


@contextlib.contextmanager
def serving(
    jobs: Mapping[str, Served], said: list[str] | None = None, port: int = 0
) -> Iterator[tuple[str, int]]:
    """Host and port of a daemon with these jobs."""
    started = threading.Event()
    found: dict[str, object] = {}

    async def serve() -> None:
        server = Server(jobs, (said if said is not None else []).append)
        listening = await server.listen("127.0.0.1", port)
        found["port"] = listening.sockets[0].getsockname()[1]
        found["over"] = asyncio.Event()
        found["loop"] = asyncio.get_running_loop()
        started.set()
        await found["over"].wait()  # type: ignore[attr-defined]
        listening.close()
        await server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(20)
    try:
        yield "127.0.0.1", found["port"]  # type: ignore[misc]
    finally:
        found["loop"].call_soon_threadsafe(found["over"].set)  # type: ignore[attr-defined]
        thread.join()
