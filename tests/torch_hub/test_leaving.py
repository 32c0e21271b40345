"""A program that ends has left its service, which goes on; one that fails is lost to it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from labkit.bound import BOUND
from plink.base.errors import PlinkError
from torch_hub.hubs import Place, model

PROGRAM = """
import sys, torch, plink.torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
hub = plink.torch.Hub(sys.argv[1], "job", secret_file=sys.argv[2], workers=1)
optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(1, 4)).sum().backward()
    optimizer.step()
if sys.argv[3] == "fails":
    raise SystemError("out of luck")
print(optimizer.iteration)
"""


def run(place: Place, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BOUND, sys.executable, "-c", PROGRAM, place.servers[0], str(place.secret_file), how],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=100,
        check=False,
    )


def test_a_program_without_close_runs_again(place: Place) -> None:
    for iterations in (3, 6):
        done = run(place, "ends")
        assert done.stdout.strip() == str(iterations), done.stderr


def test_a_program_that_fails_is_lost_to_the_service(place: Place) -> None:
    assert "out of luck" in run(place, "fails").stderr
    again = run(place, "ends")
    assert again.returncode == 1
    assert "lost" in again.stderr


def test_a_block_leaves_the_service(place: Place) -> None:
    for _ in range(2):
        with place.hub("job", workers=1) as hub:
            hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
    with pytest.raises(PlinkError):
        place.hub("other").optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
