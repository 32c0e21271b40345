"""A daemon in a thread of the test's process, and one that is a process and can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path

from autotune.deciding import Switching
from engine.forests import stars
from plink.autotune.daemon.job import Job
from plink.autotune.daemon.server import Served, Server
from plink.formats.plan import Plan, PlanRank
from plink.transport.encryption import context_of
from plink.transport.tls import Tls

SECRET = b"0123456789abcdef0123456789abcdef"
HOST = "127.0.0.1"
TIMEOUT_S = 40.0


def plan_of(ranks: int, hosts: bool = False) -> Plan:
    """A flat plan for ranks that all are on this host, or each on one of its own."""
    names = [f"h{rank}" if hosts else socket.gethostname() for rank in range(ranks)]
    return Plan("flat", [PlanRank(name, "192.0.2.1") for name in names], stars(ranks), 1000)


def switching(ranks: int, name: str = "job") -> Job:
    return Job(name, plan_of(ranks), Switching)


@contextlib.contextmanager
def serving(
    jobs: Mapping[str, Served],
    said: list[str],
    port: int = 0,
    begin: Callable[[Server], object] = lambda _: None,
    tls: Tls | None = None,
) -> Iterator[int]:
    """The port of a daemon with these jobs; `begin` is given the server first."""
    context = context_of(tls, is_server=True) if tls is not None else None
    ready: Future[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        server = Server(jobs, said.append, context)
        begun = begin(server)
        over = asyncio.Event()
        acceptor = await server.listen(HOST, port)
        ready.set_result((acceptor.address[1], asyncio.get_running_loop(), over))
        await over.wait()
        await acceptor.close()
        server.close()
        del begun

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    served_port, loop, over = ready.result(TIMEOUT_S)
    try:
        yield served_port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


class DaemonProcess:
    """It begins at once, so that nobody waits for its imports, and listens when it is told."""

    def __init__(self, ranks: int) -> None:
        program = Path(__file__).with_name("daemon_program.py")
        command = [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", str(program)]
        self._process = subprocess.Popen(
            [*command, str(ranks)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def listen(self, port: int = 0) -> int:
        """The port at which it listens."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(port, file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        # It waits for the end, and closes the pipes.
        with self._process:
            pass
