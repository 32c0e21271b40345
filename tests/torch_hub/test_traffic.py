"""What travels, by the hub's own counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from plink.hub.admin import server_status
from plink.torch.hub.diloco import DiLoCo
from torch_hub.hubs import Place, Turns, drawn, examples, loss_of, together

INPUTS, TARGETS = examples()
WORKERS = 2
STEPS, EVERY = 24, 6
HEADER_BYTES = 16
# Hyperparameters, eight float64; and a norm.
STEP_BYTES = HEADER_BYTES + 64 + HEADER_BYTES + 8


def net_of() -> nn.Module:
    """Of 20,227 numbers."""
    return drawn(nn.Sequential(nn.Linear(6, 128), nn.Linear(128, 128), nn.Linear(128, 3)), 0)


def bytes_of(
    place: Place, namespaces: list[str], begin: Callable[[Any, Any], Any]
) -> tuple[int, int]:
    """What a training brings the hub, and takes from it, without what it begins with."""
    turns = Turns(WORKERS)
    figures: list[tuple[int, int]] = []

    def count() -> None:
        status = server_status(place.servers[0], place.secret_file.read_bytes())
        ours = [one for one in status.services if one.namespace in namespaces]
        assert len(ours) == len(namespaces)
        figures.append((sum(one.bytes_in for one in ours), sum(one.bytes_out for one in ours)))

    def work(worker: int) -> None:
        net = net_of()
        inner = torch.optim.SGD(net.parameters(), lr=0.01)
        with place.hub(namespaces[0], workers=WORKERS) as hub:
            with turns.of(worker):
                stepped = begin(hub, (net, inner))
                if worker == WORKERS - 1:
                    count()
            for _ in range(STEPS):
                stepped.zero_grad()
                loss_of(net, INPUTS[worker::2], TARGETS[worker::2]).backward()
                stepped.step()
            with ended.of(worker):
                pass
            if not worker:
                count()
            with counted.of(worker):
                pass

    ended, counted = Turns(WORKERS), Turns(WORKERS)
    together(WORKERS, work)
    before, after = figures
    return after[0] - before[0], after[1] - before[1]


def by_step(hub: Any, trained: Any) -> Any:
    # As DiLoCo's, each step has a norm, of 24 bytes.
    return hub.optimizer(trained[1], clip_norm=1e9)


def by_diloco(**options: Any) -> Callable[[Any, Any], Any]:
    def begin(hub: Any, trained: Any) -> Any:
        DiLoCo(*trained, hub=hub, sync_every=EVERY, **options)
        return trained[1]

    return begin


def test_diloco_sends_one_in_h_of_the_bytes(place: Place) -> None:
    each = bytes_of(place, ["step"], by_step)
    ours = bytes_of(place, ["diloco"], by_diloco())
    assert [ours[0] * EVERY, ours[1] * EVERY] == list(each)
    numbers = sum(one.numel() for one in net_of().parameters())
    assert each[0] > WORKERS * STEPS * 4 * numbers


@pytest.mark.parametrize(("wire", "size"), [("float32", 4), ("bfloat16", 2), ("int8", 1)])
def test_changes_travel_in_fewer_bits(place: Place, wire: str, size: int) -> None:
    received, sent = bytes_of(place, ["diloco"], by_diloco(wire=wire))
    numbers = sum(one.numel() for one in net_of().parameters())
    exchanges = WORKERS * STEPS // EVERY
    per_exchange = received / exchanges
    # Headers, hyperparameters and scales are a small part.
    assert numbers * size < per_exchange < numbers * size + 400
    assert numbers * 4 < sent / exchanges < numbers * 4 + 400


def test_fragments_send_the_same_in_parts(place: Place) -> None:
    names = ["diloco", "diloco.f1", "diloco.f2"]
    whole = bytes_of(place, ["whole"], by_diloco())
    parts = bytes_of(place, names, by_diloco(fragments=3))
    exchanges = WORKERS * STEPS // EVERY
    assert 0 <= parts[0] - whole[0] <= 3 * exchanges * (STEP_BYTES + HEADER_BYTES)
