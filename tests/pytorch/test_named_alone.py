"""A group of one rank whose collectives are agreed on: a program that is tried on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

import plink.torch  # noqa: E402
from plink.torch import Control, Options  # noqa: E402


@pytest.fixture(params=["tree", "full", "bitvector", "graph"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    store = dist.FileStore(str(tmp_path / "store"), 1)
    options = Options(control=Control(mode=request.param, stall_warning_s=1.0))
    dist.init_process_group("plink", store=store, rank=0, world_size=1, pg_options=options)
    yield request.param
    dist.destroy_process_group()


def test_one_rank_agrees_with_itself(group: str) -> None:
    tensors = [torch.full((3,), float(place)) for place in range(4)]
    works = [
        plink.torch.all_reduce(tensor, name=f"t{place}", postscale_factor=0.5)
        for place, tensor in enumerate(tensors)
    ]
    for work in works:
        work.wait()
    assert [float(tensor[0]) for tensor in tensors] == [0.0, 0.5, 1.0, 1.5]
    dist.barrier()
    whole = torch.ones(2)
    dist.all_reduce(whole)
    assert whole.tolist() == [1.0, 1.0]
    if group != "graph":
        assert plink.torch.join() == 0


def test_an_optimizer_steps_as_the_one_inside(group: str) -> None:
    torch.manual_seed(1)
    models = [nn.Linear(4, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    plain, other = (torch.optim.SGD(model.parameters(), lr=0.1) for model in models)
    named = plink.torch.DistributedOptimizer(other, models[1].named_parameters())
    for _ in range(3):
        data = torch.randn(5, 4)
        for model, optimizer in zip(models, (plain, named), strict=True):
            optimizer.zero_grad()
            loss = model(data).square().sum()
            if group == "graph" and optimizer is named:
                named.learn(loss)
            loss.backward()
            optimizer.step()
    for one, another in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(one, another)
