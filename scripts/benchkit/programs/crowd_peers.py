"""All ranks of a job but one, as that one sees them while it sets up: for the benchmark init.

They answer and call as an engine does, from one process that does nothing else; the store is here,
too. A JSON object on standard input says which rank is real; a line says when it may begin.
"""

from __future__ import annotations

import errno
import json
import secrets
import selectors
import socket
import sys
from datetime import timedelta
from typing import Any, cast

from torch._C._distributed_c10d import PrefixStore, TCPStore

import plink.engine._native as core
from plink.autotune.ranks.placing import Placing
from plink.engine.forest import native
from plink.engine.table import (
    JOB_BYTES,
    Endpoints,
    Entry,
    Table,
    pack_entry,
    pack_table,
    parse_entry,
    parse_table,
)
from plink.plans.regroup import flat
from plink.torch.forests import Agreed, agreement_to_json

HOST = "127.0.0.1"
TIMEOUT = timedelta(seconds=120)
MEETING = "plink/1/plink/0"


class Peers:
    """The peers of one real rank.

    Args:
        rank: the real one.
        ranks: of the job.
        workers: of each rank.
        store: where they meet.
    """

    def __init__(self, rank: int, ranks: int, workers: int, store: PrefixStore) -> None:
        self.rank, self.ranks, self.workers = rank, ranks, workers
        # Its stub takes text alone.
        self.store: Any = store
        self.left = (ranks - 1) * (workers + 1)
        self.selector = selectors.EpollSelector()
        self.listener = socket.create_server((HOST, 0), backlog=4096)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections: list[socket.socket] = []

    def meet(self) -> Table:
        """The table of rank 0, be it real or not."""
        endpoint = (HOST, self.listener.getsockname()[1])
        if self.rank == 0:
            for other in range(1, self.ranks):
                self.store.set(f"{MEETING}/{other}", pack_entry(Entry([endpoint], None)))
            print("ready", flush=True)
            self.store.wait([f"{MEETING}/table"], TIMEOUT)
            return parse_table(self.store.get(f"{MEETING}/table"), self.ranks)
        print("ready", flush=True)
        self.store.wait([f"{MEETING}/{self.rank}"], TIMEOUT)
        real = parse_entry(self.store.get(f"{MEETING}/{self.rank}"), self.rank).endpoints
        endpoints: list[Endpoints] = [[endpoint]] * self.ranks
        endpoints[self.rank] = real
        plan = agreement_to_json(Agreed(flat(self.ranks), Placing(range(self.ranks))))
        job = secrets.token_hex(JOB_BYTES)
        table = Table(job, self.workers, endpoints, [], 60.0, plan)
        self.store.set(f"{MEETING}/table", pack_table(table))
        return table

    def connect(self, table: Table, agreement: int) -> None:
        """Call the real rank from all higher ones, and answer what it calls lower ones for."""
        answer = core.encode_answer("")
        for caller in range(self.rank + 1, self.ranks):
            for channel in range(self.workers + 1):
                hello = core.Hello(
                    channel=channel,
                    rank=caller,
                    ranks=self.ranks,
                    workers=self.workers,
                    job=bytes.fromhex(table.job),
                    plan=agreement,
                ).encode()
                connection = socket.socket()
                connection.setblocking(False)
                code = connection.connect_ex(table.endpoints[self.rank][0])
                if code not in (0, errno.EINPROGRESS):
                    raise OSError(code, "the real rank cannot be called")
                connection.send(hello)
                self.selector.register(connection, selectors.EVENT_READ, None)
                self.connections.append(connection)
            self.handle(answer, 0.0)
        while self.left > 0:
            self.handle(answer, 1.0)

    def handle(self, answer: bytes, seconds: float) -> None:
        """What has come."""
        for key, _ in self.selector.select(seconds):
            its = cast(socket.socket, key.fileobj)
            if its is self.listener:
                while True:
                    try:
                        called, _ = its.accept()
                    except BlockingIOError:
                        break
                    called.setblocking(False)
                    self.selector.register(called, selectors.EVENT_READ, answer)
                    self.connections.append(called)
                continue
            heard = its.recv(4096)
            if not heard:
                raise ConnectionError("the real rank closed a connection")
            if key.data is not None:
                its.send(key.data)
            self.selector.unregister(its)
            self.left -= 1


def main() -> None:
    """Serve the store and play the peers, until standard input ends."""
    task = json.loads(sys.stdin.readline())
    server = TCPStore(HOST, task["port"], None, True, TIMEOUT, wait_for_workers=False)
    peers = Peers(task["rank"], task["ranks"], task["workers"], PrefixStore("job", server))
    agreement = core.agreement(native(flat(peers.ranks)), 0, False)
    peers.connect(peers.meet(), agreement)
    sys.stdin.read()


if __name__ == "__main__":
    main()
