"""Workers that are lost, that join, and services that somebody else has made."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from hub.vanishing import break_connections
from plink.base.errors import WrongUseError
from plink.hub.admin import create_service
from plink.hub.calling import HubError
from plink.hub.service import ServiceOptions
from plink.torch.hub.diloco import DiLoCo
from plink.torch.hub.hub import Hub
from torch_hub.hubs import Place, Turns, apart, examples, loss_of, model, together, wide

INPUTS, TARGETS = examples()


def train(net: nn.Module, optimizer: Any, part: slice = slice(None)) -> None:
    optimizer.zero_grad()
    loss_of(net, INPUTS[part], TARGETS[part]).backward()
    optimizer.step()


def sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


@pytest.mark.parametrize("place", [1, 2], indirect=True)
def test_others_go_on_without_a_lost_worker_and_with_one_that_joins(place: Place) -> None:
    turns = Turns(2)
    shrunk, joined = threading.Event(), threading.Event()

    def work(worker: int) -> Any:
        net = wide(seed=worker)
        if worker == 2:
            assert shrunk.wait(20)
        hub = place.hub("job", workers=2, on_loss="shrink")
        if worker == 2:
            optimizer = hub.optimizer(sgd(net))
            assert optimizer.iteration > 3
            joined.set()
        else:
            with turns.of(worker):
                optimizer = hub.optimizer(sgd(net))
        counts = []
        while optimizer.iteration < 40:
            train(net, optimizer)
            assert optimizer.last_step is not None
            counts.append(optimizer.last_step.workers)
            if worker == 1 and optimizer.iteration == 3:
                hub.abandon()
                return None
            if not worker and counts[-1] == 1:
                shrunk.set()
            if not worker:
                # The one that joins needs steps to do so, and time.
                joined.wait(0.05 if optimizer.iteration < 20 else 0.5)
        hub.close()
        return net, counts

    (net, counts), lost, (other, its) = together(3, work)
    assert lost is None
    assert counts[:3] == [2, 2, 2]
    assert 1 in counts
    assert counts[-1] == its[-1] == 2
    assert apart(net, other) == 0.0


@pytest.mark.parametrize("place", [1, 2], indirect=True)
def test_others_wait_for_a_lost_worker_and_for_another_in_its_place(place: Place) -> None:
    turns = Turns(2)
    is_lost = threading.Event()

    def work(worker: int) -> Any:
        net = wide(seed=worker)
        if worker == 2:
            assert is_lost.wait(20)
        hub = place.hub("job", workers=2, on_loss="wait", grace_s=30.0)
        if worker == 2:
            optimizer = hub.optimizer(sgd(net))
            assert optimizer.iteration == 5
        else:
            with turns.of(worker):
                optimizer = hub.optimizer(sgd(net))
        while optimizer.iteration < 12:
            if worker == 1 and optimizer.iteration == 2:
                # It comes back by itself.
                break_connections(hub._open["job"])
            if worker == 1 and optimizer.iteration == 5:
                hub.abandon()
                is_lost.set()
                return None
            train(net, optimizer)
            assert optimizer.last_step is not None
            assert optimizer.last_step.workers == 2
        if not worker:
            others_end.wait(20)
        else:
            others_end.set()
        hub.close()
        return net

    others_end = threading.Event()
    net, lost, other = together(3, work)
    assert lost is None
    assert apart(net, other) == 0.0


@pytest.mark.parametrize("fragments", [1, 3])
def test_diloco_goes_on_without_a_lost_worker_and_with_one_that_joins(
    place: Place, fragments: int
) -> None:
    turns = Turns(2)
    shrunk, joined = threading.Event(), threading.Event()

    def work(worker: int) -> Any:
        net = model(seed=worker)
        inner = torch.optim.AdamW(net.parameters(), lr=0.01)
        if worker == 2:
            assert shrunk.wait(20)
        hub = place.hub("job", workers=2, on_loss="shrink")
        options = {"hub": hub, "sync_every": 4, "fragments": fragments}
        if worker == 2:
            diloco = DiLoCo(net, inner, **options)  # type: ignore[arg-type]
            assert diloco.step >= 8 - 4
            joined.set()
        else:
            with turns.of(worker):
                diloco = DiLoCo(net, inner, **options)  # type: ignore[arg-type]
        counts = []
        while diloco.rounds < 20:
            train(net, inner)
            if diloco.last_exchange is not None:
                counts.append(diloco.last_exchange.workers)
            if worker == 1 and diloco.step == 10:
                hub.abandon()
                return None
            if not worker and counts and counts[-1] == 1:
                shrunk.set()
                joined.wait(0.2)
        with diloco.global_weights():
            net = _copy(net)
        hub.close()
        return net, counts

    (net, counts), lost, (other, its) = together(3, work)
    assert lost is None
    assert counts[0] == 2
    assert 1 in counts
    assert counts[-1] == its[-1] == 2
    assert apart(net, other) == 0.0


def _copy(net: nn.Module) -> nn.Module:
    other = model()
    other.load_state_dict(net.state_dict())
    return other


def test_a_lost_worker_is_named_to_the_others(place: Place) -> None:
    turns = Turns(2)

    def work(worker: int) -> None:
        net = model()
        hub = place.hub("job", workers=2)
        with turns.of(worker):
            optimizer = hub.optimizer(sgd(net))
        train(net, optimizer)
        if worker:
            hub.abandon()
            return
        with pytest.raises(HubError, match=r"worker 1 \(127.0.0.1\) is lost"):
            train(net, optimizer)
        hub.close()

    together(2, work)


@pytest.mark.parametrize("mode", [{"mode": "async"}, {"mode": "ssp", "staleness": 2}])
def test_steps_that_do_not_wait(place: Place, mode: dict[str, Any]) -> None:
    turns = Turns(2)

    def work(worker: int) -> tuple[float, float]:
        net = model(seed=worker)
        with place.hub("job", workers=2) as hub:
            with turns.of(worker):
                optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.3), **mode)
            before = float(loss_of(net, INPUTS, TARGETS).detach())
            for _ in range(30):
                train(net, optimizer, slice(worker, None, 2))
            return before, float(loss_of(net, INPUTS, TARGETS).detach())

    for before, after in together(2, work):
        assert after < before - 0.02


def made(place: Place, folder: Path, namespace: str = "job", **options: Any) -> Hub:
    """A hub whose service somebody else has made; workers have the service's secret alone."""
    asked = ServiceOptions(namespace, 1, **options)
    secret = create_service(place.servers, place.secret_file.read_bytes(), asked)
    base, _, ending = namespace.partition(".")
    (folder / f"{base}.secret{'.' * bool(ending)}{ending}").write_bytes(secret)
    return Hub(place.servers, base, secret_file=folder / f"{base}.secret")


def test_a_service_that_was_made_before(place: Place, tmp_path: Path) -> None:
    net = model()
    with made(place, tmp_path, optimizer="momentum", commit="step", clip_norm=0.5) as hub:
        optimizer = hub.optimizer(sgd(net), clip_norm=0.5)
        train(net, optimizer)
        assert optimizer.last_step is not None
        assert optimizer.last_step.norm is not None


@pytest.mark.parametrize(
    ("service", "asked", "said"),
    [
        ({}, {"clip_norm": 1.0}, "has clip_norm None, and this worker asks for 1.0"),
        ({"wire": "int8"}, {}, "has wire int8, and this worker asks for float32"),
        ({"optimizer": "adam"}, {}, "has optimizer adam, and this worker asks for momentum"),
        ({"mode": "async"}, {}, "has mode async, and this worker asks for sync"),
        ({}, {"deterministic": True}, "has deterministic False, and this worker asks for True"),
        (
            {},
            {"scaler": torch.amp.GradScaler("cpu")},
            "has skip_nonfinite False, and this worker asks for True",
        ),
    ],
)
def test_a_service_that_works_otherwise(
    place: Place, tmp_path: Path, service: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    options = {"optimizer": "momentum", **service}
    with (
        made(place, tmp_path, **options) as hub,
        pytest.raises(WrongUseError, match=said),
    ):
        hub.optimizer(sgd(model()), **asked)


def test_fragments_of_services_that_were_made_before(place: Place, tmp_path: Path) -> None:
    options: dict[str, Any] = {"optimizer": "momentum", "commit": "step", "skip_nonfinite": True}
    for namespace in ("job", "job.f1", "job.f2"):
        hub = made(place, tmp_path, namespace, **options)
    net = model()
    inner = torch.optim.AdamW(net.parameters(), lr=0.01)
    with hub, DiLoCo(net, inner, hub=hub, sync_every=3, fragments=3) as diloco:
        for _ in range(3):
            train(net, inner)
        assert diloco.rounds == 1
