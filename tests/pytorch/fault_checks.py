"""What each rank of `test_named_faults.py` does: every fault, in each way to agree."""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import DistBackendError, ReduceOp

import plink.torch
from plink.base.errors import WrongUseError
from plink.torch.named import running
from plink.torch.named.options import Control
from plink.training.control.bitvector import BitVector
from plink.training.control.requests import Request, Tensor
from plink.training.control.tree import Tree

RANKS = 4
# On a busy machine, too, the rank that waits for a warning that names only itself announces before
# the error.
WARNING_S, ERROR_S = 1.0, 6.0
# Longer than all that is to happen between a warning and an error.
PATIENCE_S = 40.0
# Two ranks hear of the others through rank 1.
PARENTS = [-1, 0, 1, 1]
# A few, so that caches are compared soon.
CHECK_EVERY = 4

# Of a shared buffer: less than some of what is announced.
FUSION_BYTES = 64

# By name: which machine, and how ranks agree.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("native", {}),
    "tree in Python": ("python", {}),
    "full": ("native", {"mode": "full"}),
    "full in Python": ("python", {"mode": "full"}),
    "full-tree": ("native", {"mode": "full-tree"}),
    "bitvector": ("native", {"mode": "bitvector"}),
    "bitvector in Python": ("python", {"mode": "bitvector"}),
    "common sleep": ("native", {"mode": "bitvector", "sleep": "global(2)"}),
    "nonblocking": ("native", {"mode": "bitvector", "sync": "nonblocking"}),
}

Group = Any
Found = dict[str, dict[str, Any]]


class Ear(logging.Handler):
    """Keeps what people are told, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[float, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append((time.monotonic(), record.getMessage()))


def all_faults(say: Any, rank: int) -> Any:
    """Row after row in all ways at once; what each rank saw, by way and row."""
    ear = Ear()
    logging.getLogger("plink.torch.named").addHandler(ear)
    running.control_parents = lambda _: PARENTS
    settings = Control.settings.fget  # type: ignore[attr-defined]
    Control.settings = property(  # type: ignore[method-assign, assignment]
        lambda self: dataclasses.replace(settings(self), check_every=CHECK_EVERY)
    )
    found: Found = {way: {} for way in WAYS}
    groups = begin()
    for way, group in groups.items():
        found[way]["odd"] = odd(rank, group)
        found[way]["pending"] = pending(rank, group)
        found[way]["differing"] = differing(rank, group)
        found[way]["joining"] = joining(rank, group)
    for way, stalled in stalling(rank, groups, ear).items():
        found[way]["stalling"] = stalled
    end(groups)
    groups = begin({1: "python"})
    for way, group in groups.items():
        found[way]["caches"] = caches(rank, group)
    end(groups)
    groups = begin()
    for way, group in groups.items():
        found[way]["closing"] = closing(rank, group)
    end({} if rank == 2 else groups)
    groups = begin()
    for way, group in groups.items():
        found[way]["killing"] = first(rank, group)
    dist.barrier()
    if rank == RANKS - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    for way, group in groups.items():
        found[way]["killing"] = [*found[way]["killing"](), failing(group, "later")]
    say(found)
    # The others end with it.
    return None


def begin(machines: dict[int, str] | None = None) -> dict[str, Group]:
    """A group for each way."""
    groups = {}
    for way, (machine, control) in WAYS.items():
        os.environ["PLINK_CONTROL"] = (machines or {}).get(dist.get_rank(), machine)
        options = plink.torch.Options(
            control=Control(
                cycle_ms=5.0,
                fusion_bytes=FUSION_BYTES,
                stall_warning_s=WARNING_S,
                stall_error_s=ERROR_S,
                **control,
            )
        )
        groups[way] = dist.new_group(pg_options=options)
    return groups


def end(groups: dict[str, Group]) -> None:
    """On all ranks, when none needs them any more."""
    dist.barrier()
    for group in groups.values():
        dist.destroy_process_group(group)


def failing(group: Group, name: str) -> str:
    """What an all-reduce fails with."""
    return error_of(lambda: plink.torch.all_reduce(torch.ones(1), name, group=group).wait())


def error_of(call: Callable[[], Any]) -> str:
    """What it fails with."""
    try:
        call()
    except DistBackendError as error:
        return str(error)
    return "no error"


def summed(group: Group, name: str) -> float:
    """All is well with it where this is the number of ranks."""
    value = torch.ones(3)
    plink.torch.all_reduce(value, name, group=group).wait()
    return float(value.sum()) / 3


def odd(rank: int, group: Group) -> Any:
    """Groups larger than a buffer, empty tensors, several types together, and what is refused."""
    sizes = {"large": [40, 40], "empty": [0, 3, 0], "small": [1, 2], "nothing": [0]}
    groups = {name: [torch.ones(size) for size in of] for name, of in sizes.items()}
    dtypes = (torch.int64, torch.float64, torch.bfloat16)
    singles = [torch.ones(2, dtype=dtype) for dtype in dtypes]
    works = []
    names = [*groups, *range(len(singles))]
    for name in names[rank:] + names[:rank]:
        if isinstance(name, int):
            works.append(plink.torch.all_reduce(singles[name], f"single {name}", group=group))
        else:
            works += plink.torch.grouped_all_reduce(groups[name], name, group=group)
    for work in works:
        work.wait()
    sums = {float(x) for x in torch.cat([one.double() for of in groups.values() for one in of])}
    sums |= {float(x) for one in singles for x in one}
    refused = []
    for given in ([torch.ones(2).to_sparse()], [torch.ones(1), torch.ones(1, dtype=torch.int32)]):
        try:
            plink.torch.grouped_all_reduce(given, "refused", group=group)
        except WrongUseError as error:
            refused.append(str(error))
    return sorted(sums), refused


def pending(rank: int, group: Group) -> Any:
    """A name that is pending is refused, and nothing of that call is taken."""
    value = torch.ones(1)
    single = plink.torch.all_reduce(value, "w/1", group=group) if rank == 0 else None
    said = ""
    if rank == 0:
        pair = [torch.ones(1), torch.ones(1)]
        said = error_of(lambda: plink.torch.grouped_all_reduce(pair, "w", group=group))
    # Of the group nothing is pending.
    other = summed(group, "w/0")
    if rank > 0:
        single = plink.torch.all_reduce(value, "w/1", group=group)
    assert single is not None
    single.wait()
    return said, other, float(value)


def differing(rank: int, group: Group) -> Any:
    """Rank 1 announces something else, twice; another tensor goes on."""
    texts: dict[str, list[str]] = {}
    is_odd = rank == 1
    calls: dict[str, Callable[[str], Any]] = {
        "shape": lambda name: reduced(group, name, torch.ones(5 if is_odd else 4)),
        "type": lambda name: reduced(
            group, name, torch.ones(4, dtype=torch.float64 if is_odd else torch.float32)
        ),
        "operation": lambda name: reduced(
            group, name, torch.ones(4), op=ReduceOp.MAX if is_odd else ReduceOp.SUM
        ),
        "factor": lambda name: reduced(
            group, name, torch.ones(4), prescale_factor=0.5 if is_odd else 1.0
        ),
        "size of a group": lambda name: plink.torch.grouped_all_reduce(
            [torch.ones(4)] * (2 if is_odd else 3), name, group=group
        )[0],
    }
    goods = []
    for again in range(2):
        works = {}
        for kind, call in calls.items():
            if again == 0:
                # All have agreed on the name before.
                summed(group, kind)
            works[kind] = call(kind)
        overlap = plink.torch.all_reduce if is_odd else _alone
        works["place"] = overlap(torch.ones(4), "place/0", group=group)
        good = torch.ones(2)
        plink.torch.all_reduce(good, "good", group=group).wait()
        goods.append(good.tolist())
        for kind, work in works.items():
            texts.setdefault(kind, []).append(error_of(work.wait))
    return texts, goods


def _alone(tensor: torch.Tensor, name: str, group: Group) -> Any:
    """A group of one, whose tensor has this name."""
    return plink.torch.grouped_all_reduce([tensor], name.removesuffix("/0"), group=group)[0]


def reduced(group: Group, name: str, value: torch.Tensor, **more: Any) -> Any:
    """Announced."""
    return plink.torch.all_reduce(value, name, group=group, **more)


def joining(rank: int, group: Group) -> Any:
    """Ranks 0 and 1 have less data; the two others join at once."""
    found: dict[str, Any] = {"sums": [], "means": []}
    for _ in range(min(rank, 2) + 1):
        found["sums"].append(summed(group, "step"))
        mean = torch.ones(1)
        plink.torch.all_reduce(mean, "mean", op=ReduceOp.AVG, group=group).wait()
        found["means"].append(float(mean))
    if rank >= 2:
        unnamed = torch.ones(1)
        dist.all_reduce(unnamed, group=group)
        found["unnamed"] = float(unnamed)
        found["refused"] = error_of(lambda: dist.broadcast(torch.ones(1), 0, group=group))
    found["last"] = plink.torch.join(group)
    found["after"] = summed(group, "step")
    value = torch.ones(1)
    dist.all_reduce(value, group=group)
    found["unnamed after"] = float(value)
    return found


def stalling(rank: int, groups: dict[str, Group], ear: Ear) -> Found:
    """Rank 3 announces one name after a warning that only it is missing, and another never."""
    # Before any rank can announce either.
    began = time.monotonic()
    dist.barrier()
    works = {}
    if rank == 1:
        # Above those that wait and one that does not, it is later than the others.
        time.sleep(0.2)
    if rank < 3:
        for way, group in groups.items():
            for name in ("late", "never"):
                works[way, name] = reduced(group, f"{name} {way}", torch.ones(3))
    else:
        while len(works) < len(groups):
            assert time.monotonic() - began < PATIENCE_S, ear.heard
            time.sleep(0.01)
            told = [text for _, text in ear.heard]
            for way, group in groups.items():
                if (way, "late") not in works and any(
                    f"'late {way}'" in text and "for rank 3;" in text for text in told
                ):
                    works[way, "late"] = reduced(group, f"late {way}", torch.ones(3))
    found: Found = {way: {} for way in groups}
    for way in groups:
        found[way]["late"] = error_of(works[way, "late"].wait)
        if rank < 3:
            found[way]["never"] = error_of(works[way, "never"].wait)
            found[way]["never at"] = time.monotonic() - began
    dist.barrier()
    for way, group in groups.items():
        found[way]["again"] = summed(group, f"never {way}")
        found[way]["told"] = [
            (at - began, text.replace(f" {way}'", "'"))
            for at, text in ear.heard
            if f" {way}'" in text
        ]
    return found


def caches(rank: int, group: Group) -> str:
    """Rank 1 comes to know something else than the others."""
    for _ in range(2):
        for name in ("known", "other", "third"):
            summed(group, name)
    if rank == 1:
        spoil(group)
    for _ in range(20 * CHECK_EVERY):
        said = failing(group, "known")
        if said != "no error":
            break
        # Another cycle may find it.
        time.sleep(0.01)
    return said


def spoil(group: Group) -> None:
    """When its machine is next told something."""
    machine = group.negotiation._driver._machine
    step = machine.step

    def spoilt(events: Any, now_s: float) -> Any:
        machine.step = step
        if isinstance(machine, Tree):
            machine._table.put(len(machine._table), Request("odd", (Tensor("int32", (1,)),)), 0)
        elif isinstance(machine, BitVector):
            # What gives its place away next.
            machine._cache._ages.move_to_end("other")
        else:
            machine._rounds._history ^= 1
        return step(events, now_s)

    machine.step = spoilt


def first(rank: int, group: Group) -> Callable[[], list[str]]:
    """Ranks 0 and 1 announce what others do not; what it fails with is told later."""
    summed(group, "first")
    work = reduced(group, "second", torch.ones(1)) if rank < 2 else None
    return lambda: [error_of(work.wait)] if work else []


def closing(rank: int, group: Group) -> list[str]:
    """Rank 2 ends its group."""
    said = first(rank, group)
    dist.barrier()
    if rank == 2:
        dist.destroy_process_group(group)
        return [error_of(lambda: summed(group, "later"))]
    texts = said()
    while (text := failing(group, "later")) == "no error":
        pass
    return [*texts, text]
