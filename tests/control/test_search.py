"""Every order in which few ranks can act and hear, and machines with a fault that it must find."""

from __future__ import annotations

import os

import pytest

from control.network import Network
from control.programs import MODES, Maker, flat, network, request
from control.search import Plan, explore
from plink.training.control.bitvector import BitVector
from plink.training.control.cycle_messages import positions
from plink.training.control.events import Ticked
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.table import Table
from plink.training.control.tree import Tree
from plink.training.control.tree_messages import Member

A, B, C = request("a"), request("b"), request("c")
LONGER = request("a", 9)
# No float as the others, and so in no buffer with them.
D = Request("d", (Tensor("int32", (4,)),))

# Searches of minutes, such as PLINK_SOAK=1 pytest control/test_search.py.
SOAK = pytest.mark.skipif(not os.environ.get("PLINK_SOAK"), reason="PLINK_SOAK is not set")

# Of a search that PLINK_SOAK asks for.
MOST_STATES = int(os.environ.get("PLINK_SOAK_STATES", "1000000"))

# One position only, so that each release takes the place of another; nothing grows.
SMALL = Settings(check_every=1 << 30, cache=1, most_positions=1)
USUAL = Settings(check_every=1 << 30)

PLANS: dict[str, tuple[list[int], Plan, Settings]] = {
    "orders": (flat(2), [[(A,), (B,), (C,)], [(C,), (A,), (B,)]], USUAL),
    "join": (flat(2), [[(A,), (A,), "join"], [(A,), "join"]], USUAL),
    "shape": (flat(2), [[(A,), (LONGER,), (B,)], [(A,), (B,), (LONGER,)]], USUAL),
    "eviction": (flat(2), [[(A, B), (B,), (A,)], [(A, B), (A,), (B,)]], SMALL),
    "loss": (flat(3), [[(A,), (B,)], [(B,), "lose"], [(A,)]], USUAL),
}
LARGE: dict[str, tuple[list[int], Plan, Settings]] = {
    "orders": (
        flat(3),
        [[(A,), (B,), (C,)], [(C,), (A,), (B,)], [(B,), (C,), (A,)]],
        USUAL,
    ),
    "chain": ([-1, 0, 1], [[(A,), (B,), (C,)], [(C,), (A,), (B,)], [(B, C), (A,)]], USUAL),
    "join": (
        flat(3),
        [[(A,), (B,), "join"], [(B,), (A,), "join"], [(B, A), "join"]],
        USUAL,
    ),
    "eviction": (
        flat(3),
        [[(A, B), (B,), (A,)], [(A, B), (A,), (B,)], [(B,), (A,), (A, B)]],
        SMALL,
    ),
    "shape": (
        [-1, 0, 1],
        [[(A, B), (LONGER,), (B,)], [(A, B), (B,), (LONGER,)], [(B,), (A,), (LONGER, B)]],
        USUAL,
    ),
}


# The first of them in the order of the search.
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("mode", MODES)
def test_in_every_order_all_is_released_alike_and_once(mode: str, plan: str) -> None:
    parents, steps, settings = PLANS[plan]
    found = explore(MODES[mode], parents, steps, settings, is_eager=mode != "tree", most_states=120)
    assert found > 30


@SOAK
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("plan", [*PLANS, *LARGE])
@pytest.mark.parametrize("mode", MODES)
def test_in_every_order_of_more_ranks_all_is_released_alike(
    mode: str, plan: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for parents, steps, settings in filter(None, [PLANS.get(plan), LARGE.get(plan)]):
        found = explore(
            MODES[mode], parents, steps, settings, is_eager=mode != "tree", most_states=MOST_STATES
        )
        with capsys.disabled():
            how_many = f"{found} states" if found < MOST_STATES else f"the first {found} states"
            print(f"\n{mode}, {plan}, {len(parents)} ranks: {how_many}")


class NotInverted(BitVector):
    def _status(self, said: int) -> int:
        return said

    def _invert_status(self, status: int) -> int:
        return status


class TouchingCoordinator(BitVector):
    def _member(self, request: Request) -> Member:
        if self._cache.position(request) is not None:
            self._cache.put(request)
        return super()._member(request)


class WithoutOr(BitVector):
    def _erase(self, data: bytes) -> None:
        self._cache.erase(positions(self._invalid))
        self._ask()


class BitsAfterCompaction(BitVector):
    def _erase(self, data: bytes) -> None:
        kept = [(request, self._cache.position(request)) for request in self._common]
        super_erase = super()._erase
        self._ask, ask = lambda: None, self._ask  # type: ignore[method-assign]
        super_erase(data)
        self._ask = ask  # type: ignore[method-assign]
        last = len(self._cache) - 1
        self._common = [self._cache.at(min(at, last)) for _, at in kept if at is not None]
        self._ask()


class WithoutHistory(Tree):
    """A position means what stands there now, not what did when a message was sent."""

    def __init__(self, place: Place, settings: Settings) -> None:
        super().__init__(place, settings)
        self._table = _Forgetful(remembers=True)
        if self._root is not None:
            self._root = type(self._root)(place.ranks, self._root._member, settings)
            self._root._member.__self__._table = self._table  # type: ignore[attr-defined]


class _Forgetful(Table):
    def at(self, position: int, seen: int) -> Request:
        return self._requests[position]


class NothingVoid(Tree):
    def _is_void(self, name: str, seen: int) -> bool:
        return False


FAULTS: dict[str, tuple[Maker, Maker, list[int], Plan, Settings]] = {
    "the flag is not inverted": (
        BitVector,
        NotInverted,
        flat(2),
        [[(A,), (A,)], [(A,), (LONGER,)]],
        USUAL,
    ),
    "the coordinator counts its looks as uses": (
        BitVector,
        TouchingCoordinator,
        flat(2),
        # It looks up D, after B has already taken its place on all other ranks.
        [[(A, D, C), (A, C), (A, D, B)], [(A, D, C), (A, C), (A, D, B)]],
        Settings(check_every=1 << 30, cache=3, most_positions=3),
    ),
    "there is no second collective": (
        BitVector,
        WithoutOr,
        flat(2),
        [[(A, B), (LONGER,), (B,)], [(A, B), (B,), (LONGER,)]],
        USUAL,
    ),
    "bits are used after compaction": (
        BitVector,
        BitsAfterCompaction,
        flat(2),
        [[(A, B, C), (LONGER, B)], [(A, B, C), (LONGER, B)]],
        USUAL,
    ),
    "positions have no history": (
        Tree,
        WithoutHistory,
        flat(3),
        [[(A, B), (A,), (B,)], [(A, B), (A,), (B,)], [(A, B), (B,), (A,)]],
        SMALL,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    sound, faulty, parents, plan, settings = FAULTS[fault]
    is_eager = sound is BitVector
    explore(sound, parents, plan, settings, is_eager=is_eager, most_states=120)
    with pytest.raises((AssertionError, IndexError)):
        explore(faulty, parents, plan, settings, is_eager=is_eager, most_states=20_000)


def _refused_on_the_way(make: Maker) -> Network:
    """A rank announces what the root refuses meanwhile, since it has waited too long."""
    net = network(flat(3), Settings(stall_warning_s=1.0, stall_error_s=2.0), make)
    net.announce(0, A)
    net.settle(until_s=1.5)
    net.now_s = 2.0
    net.step(0, [Ticked()])
    net.deliver_except_to(0)
    # After its answer, and the root has not heard of it when it refuses.
    net.announce(1, A)
    for child in (1, 2):
        net.deliver((child, 0))
    net.settle(until_s=2.5)
    net.announce(0, A)
    net.announce(2, A)
    net.settle(until_s=2.6)
    return net


def test_what_is_refused_while_it_is_on_its_way_is_void() -> None:
    net = _refused_on_the_way(Tree)
    assert [len(refused) for refused in net.refused] == [1, 1, 0]
    assert net.names == [[]] * 3
    with pytest.raises(AssertionError):
        _refused_on_the_way(NothingVoid)
