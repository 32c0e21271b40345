"""A real training at a hub, by programs, some of them killed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from torch_hub.hubs import Place
from torch_hub.programs import Gate, Program, command, running

# Programs with PyTorch train for minutes where much else runs.
pytestmark = pytest.mark.timeout(750)

STEPS = 100
FEW_STEPS = 20
# After the step at which a worker is killed.
GATE_STEP = 30
# One that begins anew, or learns nothing of what others see, is right in one case of ten.
LOST_ACCURACY = 0.2


@pytest.fixture(scope="module")
def accuracy_alone() -> float:
    with running([command(None, 0, "--steps", STEPS, "--workers", 3)]) as (alone,):
        return alone.accuracy()


def test_two_workers_end_where_one_process_with_their_batches_does(
    place: Place, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("alone.pt", "first.pt", "second.pt")]
    options = ["--steps", FEW_STEPS, "--workers", 2]
    commands = [
        command(None, 0, *options, "--save", files[0]),
        command(place, 0, *options, "--save", files[1]),
        command(place, 1, *options, "--save", files[2]),
    ]
    with running(commands) as programs:
        accuracies = [program.accuracy() for program in programs]
    alone, first, second = (torch.load(file) for file in files)
    for name, value in alone.items():
        assert torch.equal(first[name], second[name])
        torch.testing.assert_close(first[name], value, atol=1e-4, rtol=0)
    assert accuracies[1] == accuracies[0]


@pytest.mark.parametrize("way", [[], ["--diloco", "10"]], ids=["sync", "diloco"])
def test_killed_and_joined_workers_lose_little(
    place: Place, way: list[str], accuracy_alone: float, tmp_path: Path
) -> None:
    options = ["--steps", STEPS, "--workers", 3, "--on-loss", "shrink", *way]
    files = [tmp_path / f"{worker}.pt" for worker in range(3)]
    commands = [command(place, i, *options, "--save", file) for i, file in enumerate(files)]
    # The others may not be done before the new process has joined.
    gate = Gate(tmp_path / "joined", GATE_STEP)
    with running(commands, gate.hold) as programs:
        workers = programs[:]
        workers[2].wait_for("step 20 ")
        workers[2].kill()
        again = Program(commands[2], gate.open_when_joined)
        programs.append(again)
        again.wait_for("step")
        for worker in [*workers[:2], again]:
            assert worker.accuracy() >= accuracy_alone - LOST_ACCURACY
    # Each has taken in what the last exchange came to.
    first, second, joined = (torch.load(file) for file in files)
    for name, value in first.items():
        assert torch.equal(second[name], value)
        assert torch.equal(joined[name], value)


def test_killed_workers_that_come_back_in_time_change_no_bit(place: Place, tmp_path: Path) -> None:
    """Clipping makes the hub step nothing before it has all of an iteration."""
    options = ["--workers", 2, "--steps", FEW_STEPS, "--clip-norm", 0.5]
    waiting = [*options, "--namespace", "lossy", "--on-loss", "wait", "--grace", 60]
    files = [tmp_path / name for name in ("whole.pt", "stayed.pt", "back.pt")]
    commands = [
        command(place, 0, *options, "--save", files[0]),
        command(place, 1, *options),
        command(place, 0, *waiting, "--save", files[1]),
        command(place, 1, *waiting, "--save", files[2]),
    ]
    with running(commands) as programs:
        programs[3].wait_for("step 10 ")
        programs[3].kill()
        programs.append(Program(commands[3]))
        for program in (*programs[:3], programs[-1]):
            program.accuracy()
    whole, stayed, back = (torch.load(file) for file in files)
    for name, value in whole.items():
        assert torch.equal(stayed[name], value)
        assert torch.equal(back[name], value)
