"""The soak, for a moment; and that it would find what it looks for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.engine.forest import native
from soakkit.named_steps import DTYPES, named_epoch, named_round, result_of
from soakkit.numbers import Inputs, WrongResult, check_result
from soakkit.steps import ITEM_BYTES, OPS, Step, epoch_of, forest_of, step_of
from soakkit.watch import Watch

SOAK = Path(__file__).resolve().parents[2] / "scripts" / "soak"
SHORT = ["--ranks", "2", "--most-bytes", "100000", "--pause-s", "0.01", "--json"]
RANKS = 3
STEPS = [
    Step(number, dtype, op, 1000, None)
    for number, (dtype, op) in enumerate(
        (dtype, op)
        for dtype in ITEM_BYTES
        for op in ((*OPS, "and") if dtype.startswith("int") else OPS)
    )
]


def soak(*arguments: str) -> tuple[int, dict[str, Any], str]:
    argv = [sys.executable, str(SOAK), *SHORT, *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/", check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.timing
def test_a_short_one_ends_well() -> None:
    code, summary, said = soak("--seconds", "0.5", "--seed", "7")
    assert (code, summary["problems"]) == (0, [])
    assert summary["seed"] == 7
    assert summary["collectives"] >= 25
    assert summary["engines"] >= 1
    assert said.startswith("seed 7\n")


@pytest.mark.timing
def test_ranks_that_agree_by_name_end_well() -> None:
    code, summary, _ = soak("--named", "--seconds", "0.5", "--seed", "3")
    assert (code, summary["problems"]) == (0, [])
    assert summary["collectives"] >= 2
    assert summary["engines"] >= 1
    assert all(of_rank["last"] > 10_000 for of_rank in summary["allocated_kb"])


def test_what_is_announced_follows_from_the_seed() -> None:
    epochs = [named_epoch(1, number, 0, RANKS) for number in range(60)]
    assert {epoch.control["mode"] for epoch in epochs} == {"tree", "full", "full-tree", "bitvector"}
    # Ranks agree on all but the machine.
    assert [replace(named_epoch(1, 5, rank, RANKS), machine="") for rank in range(RANKS)] == [
        replace(epochs[5], machine="")
    ] * RANKS
    steps = [step for number in range(30) for step in named_round(1, number, 20, 100_000)]
    assert {step.dtype for step in steps} == set(DTYPES)
    assert any(0 in step.items for step in steps)
    assert any(len(step.items) > 1 for step in steps)
    assert result_of("avg", [1, 2, 0]) == 1.0


@pytest.mark.timing
def test_after_ctrl_c_there_is_a_summary() -> None:
    argv = [sys.executable, str(SOAK), *SHORT, "--seconds", "600"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("seed ")
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert json.loads(said)["collectives"] >= 25


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.op} of {step.dtype}")
def test_a_result_that_is_off_is_found(step: Step) -> None:
    """Right is what a plain sum in the type itself comes to; one wrong item is named."""
    pool = Inputs(3, 100_000)
    inputs = [pool.of(step, rank) for rank in range(RANKS)]
    result = plain(step, inputs)
    check_result(step, inputs, result)
    bits = result.view(f"uint{8 * result.itemsize}")
    # The topmost but one: of a float it is in the exponent.
    bits[77] ^= np.array(1, bits.dtype) << np.array(8 * result.itemsize - 2, bits.dtype)
    with pytest.raises(WrongResult, match=rf"{step.op} of 1000 {step.dtype}\): item 77 is"):
        check_result(step, inputs, result)


def plain(step: Step, inputs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    if step.op == "and":
        return np.bitwise_and.reduce(inputs)
    wide = [array.astype(np.float64) for array in inputs]
    if step.dtype == "bfloat16":
        wide = [(array.astype(np.uint32) << 16).view(np.float32) for array in inputs]
    if step.dtype.startswith("int"):
        wide = inputs
    if step.op in ("min", "max"):
        result = (np.minimum if step.op == "min" else np.maximum).reduce(wide)
    else:
        result = wide[0].copy()
        for array in wide[1:]:
            result += array
        if step.op == "mean" and step.dtype.startswith("int"):
            result = np.array([int(abs(int(x)) // RANKS) * (1 if x >= 0 else -1) for x in result])
        elif step.op == "mean":
            result = result / RANKS
    if step.dtype == "bfloat16":
        return (result.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return result.astype(inputs[0].dtype)


def test_the_steps_are_those_of_the_seed_and_their_plans_are_plans() -> None:
    assert [step_of(1, number, 9999) for number in range(50)] == [
        step_of(1, number, 9999) for number in range(50)
    ]
    for number in range(100):
        native(forest_of(2, number, 5))
        native(epoch_of(2, number, 5).forest)
    sizes = [step_of(3, number, 1000) for number in range(300)]
    assert {0} < {step.items for step in sizes}
    assert max(step.items * ITEM_BYTES[step.dtype] for step in sizes) <= 1000


def test_what_ranks_say_is_compared() -> None:
    watch = Watch(2)
    watch.hear(0, {"event": "round", "first": 25, "digests": ["a", "b"], "bytes": 1, "plans": 1})
    watch.hear(1, {"event": "round", "first": 25, "digests": ["a", "c"], "bytes": 1, "plans": 1})
    assert watch.problems == ["rank 1: the result of collective 26 differs from others"]
    assert watch.collectives == 2


@pytest.mark.parametrize(("kb", "has_grown"), [(2, False), (64, True)])
def test_what_engines_leave_is_noticed_beside_memory_that_is_kept_for_later(
    kb: int, has_grown: bool
) -> None:
    watch = Watch(1)
    for engine in range(40):
        used = {"rss_kb": 300_000 + 700 * (engine % 9), "allocated_kb": 88_000 + kb * engine}
        watch.hear(0, {"event": "closed", "descriptors": 4, "threads": 1, **used})
    watch.judge_memory()
    said = ["rank 0: 35 engines left 2112 KB that were not freed"]
    assert watch.problems == (said if has_grown else [])


def test_what_grows_is_noticed() -> None:
    watch = Watch(1)
    for engine in range(40):
        of_engine = {"rss_kb": 100_000 + 3_000 * engine, "descriptors": 4, "threads": 1}
        watch.hear(0, {"event": "closed", **of_engine})
    assert watch.problems == []
    watch.judge_memory()
    assert watch.problems == ["rank 0: its memory grew from 112000 to 211000 KB"]
    watch.hear(0, {"event": "closed", "rss_kb": 1, "descriptors": 5, "threads": 1})
    assert watch.problems[1:] == ["rank 0: 5 descriptors after engine 41, 4 after the first"]
