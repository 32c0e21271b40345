"""Layout of ranks on hosts with several slots, and latency costs over those hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.cost import Matrix, Prices, latency_cost
from plink.solvers.collectives.form import (
    Form,
    MeshForm,
    RingForm,
    RoundsForm,
    TreesForm,
    WeightedRound,
    merge_rounds,
)

Ranks = npt.NDArray[np.intp]

# The parent of what is in no tree.
IDLE = -2


@dataclass(frozen=True)
class RankLayout:
    """Number of slots of each host, and number of ranks to place on them.

    An order is a permutation of all hosts. Ranks fill it from the front, so that the ranks of a
    host are adjacent; the hosts that are left at its end stay empty.

    Args:
        slots: (H,) how many ranks each host takes, at least 1.
        ranks: how many there are: at least 1, at most the sum of the slots.

    Raises:
        ValueError: numbers out of range.
    """

    slots: Sequence[int]
    ranks: int

    def __post_init__(self) -> None:
        if not self.slots or min(self.slots) < 1:
            raise ValueError("every host must have at least 1 slot")
        if not 1 <= self.ranks <= sum(self.slots):
            raise ValueError(f"ranks is {self.ranks}, expected 1 to {sum(self.slots)}, all slots")

    @property
    def hosts(self) -> int:
        """Number of hosts of the layout."""
        return len(self.slots)

    @cached_property
    def is_even(self) -> bool:
        """Whether all hosts take equally many ranks, so that a rank's host position is fixed."""
        return min(self.slots) == max(self.slots)

    @cached_property
    def takes_all_hosts(self) -> bool:
        """Whether every order puts a rank on every host."""
        return self.ranks > sum(self.slots) - min(self.slots)

    @cached_property
    def fewest_hosts(self) -> int:
        """Least number of hosts that can take all ranks."""
        reached = np.cumsum(sorted(self.slots, reverse=True))
        return int(np.searchsorted(reached, self.ranks)) + 1

    @cached_property
    def position_by_rank(self) -> Ranks:
        """Position of each rank's host in any order, (R,); ValueError if slots are unequal."""
        if not self.is_even:
            raise ValueError("hosts have different numbers of slots, expected the same on each")
        return np.arange(self.ranks) // self.slots[0]

    @cached_property
    def host_by_slot(self) -> Ranks:
        """Index of each slot's host, (S,), host after host."""
        return np.repeat(np.arange(self.hosts), self.slots)

    @cached_property
    def _slots(self) -> Ranks:
        return np.asarray(self.slots, dtype=np.intp)

    def placement(self, order: Sequence[int] | Ranks) -> Ranks:
        """Return the host of each rank, (R,), when ranks fill an order of hosts from its front."""
        hosts = np.asarray(order, dtype=np.intp)
        placed: Ranks = np.repeat(hosts, self._slots[hosts])[: self.ranks]
        return placed

    def count_used(self, order: Sequence[int] | Ranks) -> int:
        """Return how many hosts at the front of an order take a rank."""
        reached = np.cumsum(self._slots[np.asarray(order, dtype=np.intp)])
        return int(np.searchsorted(reached, self.ranks)) + 1


def condense_form(form: RoundsForm, place_of: Ranks, places: int) -> RoundsForm:
    """Convert a latency cost over ranks to one over positions of hosts; within a host it is free.

    Between ranks of one host there is no distance. So where all hosts take as many ranks, the
    distances that a round waits for are those between hosts alone.

    Args:
        form: over ranks.
        place_of: (R,) of every rank.
        places: how many there are.
    """
    rounds = [WeightedRound(place_of[step.edges], step.weight) for step in form.rounds]
    found = merge_rounds(RoundsForm(places, rounds))
    return _condensed_mesh(form, found, place_of) if isinstance(form, MeshForm) else found


def _condensed_mesh(form: MeshForm, over_places: RoundsForm, place_of: Ranks) -> MeshForm:
    """Return a mesh's latency cost over positions of hosts, with its sequences."""
    places = over_places.ranks
    sequences = [_list_positions(place_of[sequence], places) for sequence in form.sequences]
    most = int(np.bincount(place_of).max())
    return MeshForm(places, over_places.rounds, form.lines, sequences, most)


def _list_positions(in_sequence: Ranks, places: int) -> Ranks:
    """Return each position once, by first appearance in a sequence, then the others."""
    return np.array(list(dict.fromkeys([*in_sequence.tolist(), *range(places)])), dtype=np.intp)


def pad_form(form: RoundsForm | TreesForm, places: int) -> RoundsForm | TreesForm:
    """Return a latency cost over more positions, the added ones idle (without messages)."""
    if isinstance(form, MeshForm):
        sequences = [_list_positions(sequence, places) for sequence in form.sequences]
        return replace(form, ranks=places, sequences=sequences)
    if isinstance(form, RoundsForm):
        return RoundsForm(places, form.rounds)
    idle = np.full(places - form.ranks, IDLE, dtype=np.intp)
    return TreesForm(places, [np.concatenate([tree, idle]) for tree in form.parents])


def idle_form(form: Form, layout: RankLayout) -> Form | None:
    """Convert a latency cost over ranks to one over hosts, unused ones idle; None if impossible."""
    if isinstance(form, RingForm):
        return RingForm(layout.hosts) if layout.takes_all_hosts else None
    if not layout.is_even:
        return None
    if isinstance(form, RoundsForm):
        return condense_form(form, layout.position_by_rank, layout.hosts)
    return pad_form(form, layout.hosts) if layout.slots[0] == 1 else None


def cost_with_slots(
    form: Form, distance: Matrix, layout: RankLayout, order: Sequence[int]
) -> float:
    """Return the latency cost of ranks filling an order of hosts; within a host it is free."""
    if isinstance(form, RingForm):
        return latency_cost(RingForm(layout.hosts), distance, order[: layout.count_used(order)])
    return latency_cost(form, distance, layout.placement(order).tolist())


def prices_with_slots(form: Form, distance: Matrix, layout: RankLayout) -> Prices:
    """Return a native evaluator of the latency cost of ranks filling orders of hosts."""
    if isinstance(form, RoundsForm) and layout.is_even:
        places = -(-layout.ranks // layout.slots[0])
        between = condense_form(form, layout.position_by_rank, places)
        return Prices(between, distance, ranks=places)
    return Prices(form, distance, layout.slots, layout.ranks)
