"""A daemon that is a process: `daemon_program.py RANKS PORT`; it says at which port it listens."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from autotune.serving import SECRET, switching
from plink.autotune.daemon.server import Served, Server


async def serve(ranks: int, port: int) -> None:
    server = Server({"job": Served(switching(ranks), SECRET)}, print)
    listening = await server.listen("127.0.0.1", port)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
