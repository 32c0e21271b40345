"""The native machine does what the one in Python does, whatever ranks and networks do."""

from __future__ import annotations

import math
import random

import pytest

from control.network import Network
from control.twins import Twins
from plink.training.control.events import Announced, Done, Joined, Left, Lost, Ticked
from plink.training.control.requests import ITEM_BYTES, Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, places

NAMES = ["a", "b", "c", "d", "ä/é", "#0", "一"]


def a_tree(rng: random.Random, ranks: int) -> list[Place]:
    order = list(range(ranks))
    rng.shuffle(order)
    parents = [-1] * ranks
    for i, rank in enumerate(order[1:], start=1):
        parents[rank] = order[rng.randrange(max(0, i - 3), i)]
    return places(parents)


def a_request(rng: random.Random) -> Request:
    """Mostly what others announce too; at times something that differs, or overlaps."""
    if rng.random() < 0.15:
        members = tuple(rng.sample(NAMES[:4], rng.randint(1, 3)))
        tensors = tuple(Tensor("float32", (4,)) for _ in members)
        return Request(rng.choice(["g", "h", "a"]), tensors, members)
    name = rng.choice(NAMES)
    if rng.random() < 0.8:
        return Request(name, (Tensor("float32", (4,)),))
    return Request(
        name,
        (Tensor(rng.choice(list(ITEM_BYTES)), tuple(rng.choices([0, 3, 2**40], k=2))),),
        kind=rng.choice(["all-reduce", "broadcast"]),
        op=rng.choice(["sum", "max", ""]),
        device=rng.choice(["cpu", "cuda"]),
        prescale=rng.choice([1.0, 0.1, -1e-30, 1e300, 0.0, -0.0]),
        postscale=rng.choice([1.0, 1 / 3, 123456789.0]),
        root=rng.choice([-1, 0, 1]),
    )


def spoilt(message: bytes, rng: random.Random) -> bytes:
    """Something else than what was sent."""
    how = rng.randrange(4)
    if how == 0:
        at = rng.randrange(len(message))
        return message[:at] + bytes([rng.randrange(256)]) + message[at + 1 :]
    if how == 1:
        return message[: rng.randrange(len(message))]
    if how == 2:
        return message + bytes(rng.randrange(256) for _ in range(rng.randint(1, 3)))
    at = rng.randrange(len(message))
    return message[:at] + bytes([rng.randrange(256)]) + message[at:]


@pytest.mark.parametrize("spoils", [0.0, 0.03])
def test_twins_do_the_same_whatever_happens(spoils: float) -> None:
    told = set()
    for seed in range(150):
        rng = random.Random(seed)
        settings = Settings(
            fusion_bytes=rng.choice([1, 40, 1 << 20]),
            stall_warning_s=rng.choice([0.3, 60.0]),
            stall_error_s=rng.choice([None, 0.4, 100.0]),
            check_every=rng.choice([1, 3]),
            most_positions=rng.choice([1, 3, 1 << 20]),
        )
        ranks = rng.randint(1, 7)
        machines = [Twins(place, settings) for place in a_tree(rng, ranks)]
        net = Network(machines, completes=rng.random() < 0.5, agrees=spoils == 0.0)
        for _ in range(150):
            rank = rng.randrange(ranks)
            chance = rng.random()
            if chance < 0.4:
                requests = tuple(a_request(rng) for _ in range(rng.choice([1, 1, 1, 2, 3])))
                net.step(rank, [Announced(requests)])
            elif chance < 0.42:
                net.step(rank, [Joined(), *[Joined()] * rng.randrange(2)])
            elif chance < 0.45:
                net.step(rank, [Done(rng.randint(1, 3))])
            elif chance < 0.5:
                net.now_s += rng.choice([0.0005, 0.05, 0.13, 1.0, 30.0])
                for one in range(ranks):
                    if net.wakes_s[one] <= net.now_s:
                        net.wakes_s[one] = math.inf
                        net.step(one, [Ticked()])
            elif spoils and chance < 0.501:
                other = rng.randrange(ranks)
                net.step(rank, [rng.choice([Lost("it is gone"), Left(other, "it left")])])
            elif busy := net.busy_links():
                link = rng.choice(busy)
                if rng.random() < spoils:
                    net.links[link][0] = spoilt(net.links[link][0], rng)
                net.deliver(link, rng.randint(1, 3))
        told |= {text.split(": ")[-1] for text in net.failed if text}
    # Twins that never come so far would be alike too.
    assert len(told) > 20 if spoils else not told
