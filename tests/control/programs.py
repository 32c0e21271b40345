"""What ranks announce in tests, over which trees."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from control.network import Machine, Network
from control.twins import Twins
from plink.training.control.bitvector import BitVector
from plink.training.control.full import Full
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, places
from plink.training.control.tree import Tree

Maker = Callable[[Place, Settings], Machine]

MODES: dict[str, Maker] = {"tree": Tree, "full": Full, "bitvector": BitVector}


def request(name: str, *shape: int, **more: object) -> Request:
    return Request(name, (Tensor("float32", shape or (4,)),), **more)  # type: ignore[arg-type]


def group(name: str, *members: str) -> Request:
    return Request(name, tuple(Tensor("float32", (4,)) for _ in members), members)


def a_tree(rng: random.Random, ranks: int) -> list[int]:
    order = list(range(ranks))
    rng.shuffle(order)
    parents = [-1] * ranks
    for i, rank in enumerate(order[1:], start=1):
        parents[rank] = order[rng.randrange(max(0, i - 4), i)]
    return parents


def flat(ranks: int) -> list[int]:
    return [-1] + [0] * (ranks - 1)


def network(
    parents: Sequence[int], settings: Settings | None = None, mode: str | Maker = Twins
) -> Network:
    make = MODES[mode] if isinstance(mode, str) else mode
    return Network([make(place, settings or Settings()) for place in places(parents)])


class Program:
    """What one rank announces: in each iteration all tensors in an order of its own."""

    def __init__(self, rank: int, plan: list[list[Request]], rng: random.Random, last: int) -> None:
        self.rank = rank
        self.plan = plan
        self.rng = rng
        self.iteration = -1
        self.iterations = last
        self.left: list[Request] = []
        self.has_joined = False
        self.awaited = 0

    def go_on(self, net: Network) -> bool:
        """Whether it could do something."""
        if self.left:
            count = self.rng.randint(1, len(self.left))
            now, self.left = self.left[:count], self.left[count:]
            net.announce(self.rank, *now)
            return True
        if len(net.names[self.rank]) < self.awaited or self.has_joined:
            return False
        self.iteration += 1
        if self.iteration == self.iterations:
            net.join(self.rank)
            self.has_joined = True
            return True
        self.left = list(self.plan[self.iteration])
        self.rng.shuffle(self.left)
        self.awaited += len(self.left)
        return True


def run(net: Network, programs: Sequence[Program], rng: random.Random) -> None:
    """Until all have joined; fails where nothing goes on."""
    for _ in range(1_000_000):
        if all(net.joined):
            return
        busy = net.busy_links()
        if busy and rng.random() < 0.5:
            net.deliver(rng.choice(busy), rng.randint(1, 4))
            continue
        moves = list(programs)
        rng.shuffle(moves)
        if rng.random() < 0.7 and any(program.go_on(net) for program in moves):
            continue
        if busy:
            net.deliver(rng.choice(busy), rng.randint(1, 4))
        elif asleep := net.sleepers():
            net.tick(rng.choice(asleep))
        else:
            assert any(program.go_on(net) for program in moves), "nothing goes on"
    raise AssertionError("it does not end")
