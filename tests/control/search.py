"""All orders in which ranks can act and messages can come: a search over states of a network."""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Sequence
from types import MethodType
from typing import Any

from control.network import Network
from control.programs import Maker, network
from plink.training.control.requests import Request
from plink.training.control.rounds import Rounds
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree import Tree

# What a rank does, one after the other: announce these together, `join`, or `lose` itself.
Step = tuple[Request, ...] | str
Plan = Sequence[Sequence[Step]]

Move = tuple[str, Any]

# They grow for ever, and nothing that follows depends on them.
_COUNTERS = {"_cycles", "_history"}
# So many times each rank wakes until all that was announced must be released.
_ENOUGH_TICKS = 6


class Interned:
    """What does not change, by a number: most of a machine, by far."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._objects: list[Any] = []

    def reduce(self, one: Any) -> tuple[Any, ...]:
        """For pickle."""
        # A place has a dictionary; there is one object of each.
        key = one if isinstance(one, Request) else id(one)
        if key not in self._numbers:
            self._numbers[key] = len(self._objects)
            self._objects.append(one)
        return _interned, (self._numbers[key],)

    def __getitem__(self, number: int) -> Any:
        return self._objects[number]


_INTERNED = Interned()


def _interned(number: int) -> Any:
    return _INTERNED[number]


def _fixed(_: Any) -> tuple[Any, ...]:
    return str, ()


def _all_but_counters(machine: Any) -> tuple[Any, ...]:
    names = _COUNTERS if isinstance(machine, Tree) else _COUNTERS | {"_taken"}
    return dict, ({name: value for name, value in vars(machine).items() if name not in names},)


def _frozen(machine: Any) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    kinds = dict.fromkeys((Request, Place, Settings), _INTERNED.reduce)
    pickler.dispatch_table = {**copyreg.dispatch_table, **kinds}
    pickler.dump(machine)
    return file.getvalue()


def _key(machine: Any) -> bytes:
    """Equal where the same can follow."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    # Without memory of what was written: equal objects are not always the same.
    pickler.fast = True
    counting = dict.fromkeys((type(machine), Rounds), _all_but_counters)
    fixed = dict.fromkeys((Place, Settings, MethodType), _fixed)
    interned = {Request: _INTERNED.reduce}
    pickler.dispatch_table = {**copyreg.dispatch_table, **interned, **counting, **fixed}
    pickler.dump(machine)
    return file.getvalue()


class State:
    """A network whose machines are frozen, and how far each rank has come in its plan."""

    def __init__(self, net: Network, frozen: list[bytes], keys: list[bytes]) -> None:
        self.net = net
        self.next = [0] * len(frozen)
        self._frozen = frozen
        self._keys = keys

    @staticmethod
    def of(net: Network) -> State:
        """At the beginning."""
        return State(net, [*map(_frozen, net.machines)], [*map(_key, net.machines)])

    def clone(self) -> State:
        """Apart from this one."""
        clone = State(self.net.clone(), list(self._frozen), list(self._keys))
        clone.next = list(self.next)
        return clone

    def moves(self, plan: Plan, *, is_eager: bool = False) -> list[Move]:
        """What can happen next.

        With `is_eager` messages come at once to ranks in a round: what they announce meanwhile
        waits for the next cycle, so that the order of both does not matter.
        """
        net = self.net
        moves: list[Move] = [("deliver", link) for link in net.busy_links()]
        if is_eager:
            for move in moves:
                rank = move[1][1]
                steps = plan[rank][self.next[rank] :]
                if not steps or not isinstance(steps[0], str):
                    return [move]
        moves += [("tick", rank) for rank in net.sleepers()]
        for rank, steps in enumerate(plan):
            if self.next[rank] == len(steps) or rank in net.lost or net.failed[rank]:
                continue
            step = steps[self.next[rank]]
            is_free = isinstance(step, str) or not {one.name for one in step} & net.pending[rank]
            if is_free and rank not in net.has_joined:
                moves.append(("go on", rank))
        return moves

    def move(self, plan: Plan, move: Move) -> None:
        """Let one thing happen."""
        kind, what = move
        rank = what[1] if kind == "deliver" else what
        self.net.machines[rank] = pickle.loads(self._frozen[rank])
        if kind == "deliver":
            self.net.deliver(what)
        elif kind == "tick":
            self.net.tick(rank)
        else:
            step = plan[rank][self.next[rank]]
            self.next[rank] += 1
            if step == "join":
                self.net.join(rank)
            elif step == "lose":
                self.net.lose(rank)
            else:
                assert not isinstance(step, str)
                self.net.announce(rank, *step)
        self._frozen[rank] = _frozen(self.net.machines[rank])
        self._keys[rank] = _key(self.net.machines[rank])

    def key(self) -> Any:
        """Equal where the same can follow."""
        net = self.net
        shortest = min(len(names) for names in net.released)
        links = tuple(sorted((link, *queue) for link, queue in net.links.items() if queue))
        tails = tuple(tuple(names[shortest:]) for names in net.released)
        pending = tuple(frozenset(names) for names in net.pending)
        sets = frozenset(net.asleep), frozenset(net.lost), frozenset(net.has_joined)
        return tuple(self.next), links, tails, pending, sets, tuple(self._keys)

    def end(self, plan: Plan) -> None:
        """Let everything go on without any plan, and check that nothing is left."""
        net = self.net
        net.machines[:] = [pickle.loads(frozen) for frozen in self._frozen]
        for _ in range(_ENOUGH_TICKS):
            _deliver_all(net)
            is_over = not net.has_joined and not any(net.pending) and not net.lost
            if is_over and len({len(names) for names in net.names}) == 1:
                break
            for rank in net.sleepers():
                net.tick(rank)
        _deliver_all(net)
        net.check()
        if net.lost:
            others = {text for rank, text in enumerate(net.failed) if rank not in net.lost}
            assert len(others) == 1, others
            assert all(others), "nobody has heard of the loss"
            return
        assert not any(net.failed), net.failed
        if all(at == len(steps) for at, steps in zip(self.next, plan, strict=True)):
            assert not any(net.pending), f"{net.pending} are never released"
            assert len({tuple(names) for names in net.names}) == 1
            assert len({tuple(joined) for joined in net.joined}) == 1
            assert not net.has_joined or len(net.has_joined) < len(plan), "nobody knows"


def _deliver_all(net: Network) -> None:
    while busy := net.busy_links():
        net.deliver(busy[0])


def explore(
    make: Maker,
    parents: Sequence[int],
    plan: Plan,
    settings: Settings,
    *,
    is_eager: bool = False,
    most_states: int = 1_000_000,
) -> int:
    """Go through all states; where all plans are done, let it end.

    Args:
        make: the machine of each rank.
        parents: (P,) of each rank.
        plan: of each rank.
        settings: of all.
        is_eager: see `State.moves`.
        most_states: more than that are not visited.

    Returns:
        How many states there are.
    """
    first = State.of(network(parents, settings, make))
    known = {first.key()}
    left = [first]
    while left and len(known) < most_states:
        before = left.pop()
        for move in before.moves(plan, is_eager=is_eager):
            state = before.clone()
            state.move(plan, move)
            state.net.check()
            key = state.key()
            if key in known:
                continue
            known.add(key)
            left.append(state)
            if not any(kind == "go on" for kind, _ in state.moves(plan)):
                end = state.clone()
                end.end(plan)
    return len(known)
