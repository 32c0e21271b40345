"""What a benchmark's own daemons do: serve one job until they are terminated."""

from __future__ import annotations

import asyncio
import sys

from plink.autotune.daemon.job import Job
from plink.autotune.daemon.server import Served, Server


def serve(job: Job, secret: str, host: str) -> None:
    """Listen at any port, and say on standard output which one it is."""
    asyncio.run(_serve({"job": Served(job, secret.encode())}, host))


async def _serve(jobs: dict[str, Served], host: str) -> None:
    server = Server(jobs, lambda text: print(text, file=sys.stderr))
    listening = await server.listen(host, 0)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()
