"""ResNet-50's gradients, announced by each rank and in each iteration in another order."""

from __future__ import annotations

import random
import statistics
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import DistBackendError

import plink.torch
from benchkit.control.crew import Crew, RanksHangError
from benchkit.control.effort import Effort
from benchkit.control.rank import Rank
from benchkit.networks import resnet50, scale_lengths
from benchkit.report import Report
from plink.torch import Control

MODES = ("tree", "bitvector", "full-tree", "full")
PLAIN = "none"
# Sums of 32-bit floats in any order.
TOLERANCE = 1e-5
# So long a rank of the plain group waits for others that have begun something else.
PLAIN_S = 20.0
HEADER = (
    "mode",
    "iterations that ended",
    "wrong sums",
    "ranks with other bits",
    "an iteration, ms (median, most)",
)


@dataclass(frozen=True)
class Program:
    """What every rank does.

    Args:
        names: of the tensors.
        lengths: of each.
        seed: of the order, and of what is added up.
    """

    names: list[str]
    lengths: list[int]
    seed: int


@dataclass(frozen=True)
class Found:
    """By one rank.

    Args:
        seconds: of each iteration.
        wrong: iterations in which a sum was wrong.
        bits: a digest of all sums of all iterations.
        failed: what ended it, empty for nothing.
    """

    seconds: list[float]
    wrong: int
    bits: int
    failed: str = ""


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all modes, and the group without control."""
    parameters = list(resnet50())
    lengths = scale_lengths(parameters, effort.scale)
    program = Program([parameter.name for parameter in parameters], lengths, effort.seed)
    report.say(
        f"ResNet-50's {len(lengths)} tensors, {4 * sum(lengths) / 1e6:.2f} MB of them, "
        f"{crew.ranks} ranks, each in another order in each iteration"
    )

    def rows() -> Iterator[tuple[str, ...]]:
        for mode in MODES:
            iterations = effort.iterations if mode == "tree" else effort.fewer_iterations
            try:
                found = crew.ask(announce_permuted, program, mode, iterations)
            except RanksHangError as error:
                raise SystemExit(f"error: {mode}: {error}") from None
            failed = [one.failed for one in found if one.failed]
            if failed:
                raise SystemExit(f"error: {mode} failed on {len(failed)} ranks: {failed[0]}")
            wrong = sum(one.wrong for one in found)
            others = crew.ranks - Counter(one.bits for one in found).most_common(1)[0][1]
            report.at_most(f"{mode}: wrong sums, and ranks with other bits", 0, wrong + others)
            by_iteration = zip(*(one.seconds for one in found), strict=True)
            most_ms = [1e3 * max(of_ranks) for of_ranks in by_iteration]
            took = f"{statistics.median(most_ms):.1f}, {max(most_ms):.1f}"
            yield mode, str(len(most_ms)), str(wrong), str(others), took

    report.table(HEADER, rows(), title="Any order")
    said = [one.failed for one in crew.ask(announce_permuted, program, PLAIN, 1)]
    failed = [text for text in said if text]
    first = f": {failed[0]}" if failed else ""
    report.say(f"the same in a group without control fails on {len(failed)} ranks{first}")
    report.at_least("without control: ranks on which it fails", crew.ranks, len(failed), "ranks")


def announce_permuted(rank: Rank, program: Program, mode: str, iterations: int) -> Found:
    """Announce all in an order of its own, wait for all, look at the sums; again."""
    is_plain = mode == PLAIN
    control = None if is_plain else Control(mode=mode)
    try:
        with rank.group(f"any-order/{mode}", control, stall_timeout_s=PLAIN_S):
            return _iterate(rank, program, iterations, is_plain=is_plain)
    except DistBackendError as error:
        return Found([], 0, 0, str(error))


def _iterate(rank: Rank, program: Program, iterations: int, *, is_plain: bool) -> Found:
    whole = torch.empty(sum(program.lengths))
    gradients = torch.split(whole, program.lengths)
    pattern = torch.randn(len(whole), generator=torch.Generator().manual_seed(program.seed))
    seconds: list[float] = []
    wrong = bits = 0
    for iteration in range(iterations):
        order = list(range(len(gradients)))
        random.Random(f"{program.seed} {rank.rank} {iteration}").shuffle(order)
        torch.mul(pattern, _factor(rank.rank, iteration), out=whole)
        dist.barrier()
        began_s = time.perf_counter()
        works = [
            _begin_all_reduce(gradients[i], program.names[i], is_plain=is_plain) for i in order
        ]
        for work in works:
            work.wait(timedelta(seconds=PLAIN_S) if is_plain else timedelta(0))
        seconds.append(time.perf_counter() - began_s)
        expected = pattern * sum(_factor(one, iteration) for one in range(rank.ranks))
        wrong += not torch.allclose(whole, expected, rtol=TOLERANCE, atol=TOLERANCE)
        bits = zlib.crc32(whole.numpy().tobytes(), bits)
    return Found(seconds, wrong, bits)


def _begin_all_reduce(gradient: Tensor, name: str, *, is_plain: bool) -> Any:
    if is_plain:
        return dist.all_reduce(gradient, async_op=True)
    return plink.torch.all_reduce(gradient, name)


def _factor(rank: int, iteration: int) -> float:
    """Another one in each iteration, and no power of two, so that sums are rounded."""
    return 0.1 * (rank + 1) + 0.3 * (iteration % 11)
