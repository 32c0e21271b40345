"""One rank of training-control: a process that does one thing after the other, as it is asked."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist

from benchkit.programs.meeting import Meeting
from labkit.namespaces import inside
from plink.bench.workers.torch_collectives import interface_of
from plink.formats import plan as plan_file
from plink.plans.forest import Forest
from plink.torch import Control, Options

MEETING_S = 120.0


@dataclass(frozen=True)
class Seat:
    """Where a rank is.

    Args:
        rank: of the process.
        ranks: of all.
        address: of its host.
        master: the address of rank 0's host.
        port: of rank 0's store.
        namespace: of the network; None for this machine's own.
        plan: the path of a plan; empty for none.
    """

    rank: int
    ranks: int
    address: str
    master: str
    port: int
    namespace: str | None
    plan: str


class Rank:
    """What is done here is done as this rank.

    Args:
        seat: where.
    """

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.rank, self.ranks = seat.rank, seat.ranks
        self.meeting = Meeting(asdict(seat), MEETING_S)

    @property
    def forest(self) -> Forest:
        """Of the plan."""
        return plan_file.read_plan(self.seat.plan).forest

    @contextlib.contextmanager
    def group(self, name: str, control: Control | None, **options: float) -> Iterator[None]:
        """Within it there is a default group of all ranks.

        Args:
            name: that no group had before.
            control: how its ranks agree; None where they begin the same in the same order.
            options: others of the group.
        """
        self.meeting.join(name, pg_options=Options(control=control, **options))  # type: ignore[arg-type]
        try:
            yield
            # Nobody leaves while another one still needs it.
            dist.barrier()
        finally:
            dist.destroy_process_group()


def serve(pipe: Connection, seat: Seat) -> None:
    """Answer what is asked until nobody asks: each by the result, or by how it failed."""
    with inside(seat.namespace) if seat.namespace else contextlib.nullcontext():
        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = interface_of(seat.address)
        os.environ["PLINK_PLAN"] = seat.plan
        rank = Rank(seat)
        with contextlib.suppress(EOFError):
            while True:
                do, arguments = pipe.recv()
                try:
                    pipe.send((True, do(rank, *arguments)))
                except BaseException:
                    pipe.send((False, traceback.format_exc()))
