"""A program that ends has left its service, which goes on; one that fails is lost to it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from labkit.bound import BOUND
from plink.base.errors import PlinkError
from torch_hub.hubs import Place, model

# One program after the other, forked when PyTorch has been imported; each ends as any does.
PROGRAM = """
import gc, os, sys, torch, plink.torch
# The first optimizer imports the compiler, which takes seconds.
torch.optim.SGD([torch.zeros(1)], lr=0.1)
# No program looks through all of that for garbage when it ends.
gc.freeze()
for how in ("ends", "ends", "fails", "ends"):
    if not (child := os.fork()):
        break
    print(how, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
hub = plink.torch.Hub(sys.argv[1], "job", secret_file=sys.argv[2], workers=1)
optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(1, 4)).sum().backward()
    optimizer.step()
print(optimizer.iteration, flush=True)
if how == "fails":
    raise SystemError("out of luck")
"""


@pytest.mark.timeout(600)
def test_a_program_without_close_runs_again_until_one_fails(place: Place) -> None:
    done = subprocess.run(
        [*BOUND, sys.executable, "-c", PROGRAM, place.servers[0], str(place.secret_file)],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=200,
        check=False,
    )
    said = ["3", "ends 0", "6", "ends 0", "9", "fails 1", "ends 1"]
    assert done.stdout.splitlines() == said, done.stderr
    failed, refused = done.stderr.split("out of luck", 1)
    assert "lost" not in failed
    assert "lost" in refused


def test_a_block_leaves_the_service(place: Place) -> None:
    for _ in range(2):
        with place.hub("job", workers=1) as hub:
            hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
    with pytest.raises(PlinkError):
        place.hub("other").optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
