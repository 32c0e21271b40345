"""All ranks of training-control, as who asks them sees them."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from benchkit.control.rank import Rank, Seat, serve
from benchkit.labs import BenchLab, Hosts
from labkit.wiring import namespace

ANSWER_S = 600.0
# What takes long to import, and is installed: the server does not find what is only beside scripts.
PRELOADED = ["plink.torch", "plink.formats.plan", "plink.bench.workers.torch_collectives"]

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class RanksHangError(Exception):
    """Ranks have not answered in time."""


class Crew:
    """Ranks on their hosts.

    Args:
        pipes: to each.
    """

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self._pipes)

    def first(self, ranks: int) -> Crew:
        """So many of them."""
        return Crew(self._pipes[:ranks])

    def ask(
        self,
        do: Callable[Concatenate[Rank, Arguments], Answer],
        *arguments: Arguments.args,
        **_: Arguments.kwargs,
    ) -> list[Answer]:
        """What each rank answers.

        Args:
            do: a function of a module, which each rank calls.
            arguments: for it, beside the rank.

        Raises:
            RanksHangError: some did not answer.
            SystemExit: a rank failed; how is told.
        """
        for pipe in self._pipes:
            pipe.send((do, arguments))
        ends_s = time.monotonic() + ANSWER_S
        answers: list[Any] = []
        for rank, pipe in enumerate(self._pipes):
            if not pipe.poll(max(0.0, ends_s - time.monotonic())):
                raise RanksHangError(f"rank {rank} did not answer within {ANSWER_S:g} s")
            is_well, answer = pipe.recv()
            if not is_well:
                raise SystemExit(f"error: rank {rank} failed:\n{answer}")
            answers.append(answer)
        return answers


@contextmanager
def crew_on(hosts: Hosts, names: Sequence[str], plan: Path | None = None) -> Iterator[Crew]:
    """Start a rank on each of these hosts, one that is named twice has two; end them at the end.

    They are forked from a server that has imported PyTorch once, and enter their host's network.

    Args:
        hosts: of a lab, or this one.
        names: the host of each rank.
        plan: of the groups of all ranks; None for one that they choose.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    # PyTorch warns of addresses without a name, which all of the lab's are.
    os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"
    _start_server()
    master = hosts.addresses[names[0]]
    pipes = []
    with ExitStack() as stack:
        for rank, name in enumerate(names):
            net = namespace(hosts.name, name) if isinstance(hosts, BenchLab) else None
            address, port = hosts.addresses[name], hosts.meeting_port
            seat = Seat(rank, len(names), address, master, port, net, str(plan or ""))
            here, there = context.Pipe()
            process = context.Process(target=serve, args=(there, seat), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
            there.close()
            pipes.append(here)
        yield Crew(pipes)


def _start_server() -> None:
    """Start what ranks are forked from, if it has not been.

    It looks for modules in the folder that it is started in first, where sources are; programs that
    this process starts later must find what lies beside them.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before
