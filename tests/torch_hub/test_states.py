"""A service's optimizer state, read and given by workers, wherever its numbers lie."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from plink.hub.calling import HubError
from plink.hub.serving import Server, ServerOptions
from plink.torch.hub.optimizer import HubOptimizer
from torch_hub.hubs import Place, Turns, drawn, examples, loss_of, together

INPUTS, TARGETS = examples()


def net_of() -> nn.Module:
    """Of 305,923 numbers: more than one message holds, and more than one chunk a core."""
    return drawn(nn.Sequential(nn.Linear(6, 550), nn.Linear(550, 540), nn.Linear(540, 3)), 0)


def adam(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), lr=1e-3)


def train(net: nn.Module, optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(net, INPUTS, TARGETS).backward()
        optimizer.step()


def test_state_of_several_servers_ports_and_cores(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s" * 32)
    ports = ["127.0.0.1:0", "127.0.0.1:0"]
    options = ServerOptions(listen=ports, secret=secret.read_bytes(), cores=3, pins=())
    plain_net, net = net_of(), net_of()
    plain = adam(plain_net)
    train(plain_net, plain, 3)
    with Server(options) as one, Server(options) as other:
        place = Place([one.addresses[0], other.addresses[0]], secret)
        with place.hub("first", workers=1) as hub:
            optimizer = hub.optimizer(adam(net))
            train(net, optimizer, 3)
            saved = optimizer.state_dict()
        for own, wanted in zip(
            saved["state"].values(), plain.state_dict()["state"].values(), strict=True
        ):
            assert own["step"] == wanted["step"] == 3
            torch.testing.assert_close(own["exp_avg"], wanted["exp_avg"], atol=1e-7, rtol=1e-3)
            torch.testing.assert_close(own["exp_avg_sq"], wanted["exp_avg_sq"])
        with place.hub("second", workers=1) as hub:
            optimizer = hub.optimizer(adam(net))
            optimizer.load_state_dict(saved)
            given = optimizer.state_dict()
    for own, wanted in zip(given["state"].values(), saved["state"].values(), strict=True):
        assert all(torch.equal(own[name], wanted[name]) for name in wanted)


def test_one_worker_reads_while_another_has_gone_on(place: Place) -> None:
    turns = Turns(2)
    pushed = threading.Event()

    def work(worker: int) -> Any:
        net = net_of()
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(adam(net))
            train(net, optimizer, 2)
            if worker:
                loss_of(net, INPUTS, TARGETS).backward()
                pushed.set()
            else:
                assert pushed.wait(10)
                state = optimizer.state_dict()["state"]
                loss_of(net, INPUTS, TARGETS).backward()
            optimizer.step()
            return None if worker else state

    state, _ = together(2, work)
    net = net_of()
    plain = adam(net)
    train(net, plain, 2)
    for own, wanted in zip(state.values(), plain.state_dict()["state"].values(), strict=True):
        assert own["step"] == 2
        torch.testing.assert_close(own["exp_avg"], wanted["exp_avg"], atol=1e-7, rtol=1e-3)


def test_all_workers_give_the_same_state(place: Place) -> None:
    net = net_of()
    plain = adam(net)
    train(net, plain, 2)
    saved = plain.state_dict()
    turns, ended = Turns(2), Turns(2)

    def work(worker: int) -> None:
        own = net_of()
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(adam(own))
            optimizer.load_state_dict(saved)
            train(own, optimizer, 1)
            with ended.of(worker):
                pass
            if worker:
                with pytest.raises(HubError, match="has gone on"):
                    _behind(optimizer)

    together(2, work)


def _behind(optimizer: HubOptimizer) -> None:
    """Read as if a step had not been taken."""
    optimizer._worker.iteration -= 1
    try:
        optimizer.state_dict()
    finally:
        optimizer._worker.iteration += 1


def test_another_workers_other_state_is_refused(place: Place) -> None:
    turns, given = Turns(2), threading.Barrier(2)

    def work(worker: int) -> None:
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(adam(net_of()))
            size = optimizer._layout.manifest.items
            arrays = {name: np.full(size, 0.5, np.float32) for name in ("exp_avg", "exp_avg_sq")}
            if not worker:
                optimizer._worker.load_state(3, arrays)
            given.wait(10)
            if worker:
                with pytest.raises(HubError, match="goes on with another state"):
                    optimizer._worker.load_state(4, arrays)
            given.wait(10)

    together(2, work)
