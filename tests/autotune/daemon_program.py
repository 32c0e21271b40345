"""A daemon that is a process: `daemon_program.py RANKS`.

It listens at the port that it reads, 0 for any, and says which one that is.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autotune.deciding import Reshaping
from autotune.serving import SECRET, plan_of
from plink.autotune.daemon.job import Job
from plink.autotune.daemon.server import Served, Server


async def serve(ranks: int, port: int) -> None:
    server = Server({"job": Served(Job("job", plan_of(ranks), Reshaping), SECRET)}, print)
    acceptor = await server.listen("127.0.0.1", port)
    print(acceptor.address[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.stdin.readline())))
