from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Matrix = npt.NDArray[np.float64]
_Orders = npt.NDArray[np.int64]

def cheapest_subset_ring(distance: _Matrix, count: int) -> list[int]: ...

class Deadline:
    """Point in time when a search must end, which can be brought forward.

    One is made where the time begins to count, and handed down. A part of it ends no later, and
    stops with it. Native loops ask it too, and heed Ctrl-C where they run on the main thread.
    """

    def __init__(self, seconds: float = ...) -> None:
        """Set the end this many seconds from now: at once if 0, years away if left out."""

    def within(self, seconds: float) -> Deadline:
        """Return a deadline in some seconds, but no later than this one."""

    def part(self, share: float) -> Deadline:
        """Return a deadline at this share, 0 to 1, of the time that is left."""

    def at_least(self, seconds: float) -> Deadline:
        """Return a deadline at least this many seconds away; to stop this one stops it, too."""

    def require(self) -> None:
        """Raise TimeoutError if no time is left."""

    def stop(self) -> None:
        """End the deadline now, for all parts of a search."""

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""

class BudgetTree:
    def __init__(
        self,
        distance: _Matrix,
        shapes: Sequence[Sequence[tuple[int, int]]],
        group: Sequence[int],
        limit: float,
        cells: int,
    ) -> None: ...
    def cheapest(self, prices: Sequence[float], deadline: Deadline) -> list[float]: ...
    def uses(self, root: int) -> list[int]: ...

def fault_of(distance: _Matrix) -> str | None: ...
def clustered_leaves(distance: _Matrix, deadline: Deadline) -> list[int]: ...
def merges(
    distance: _Matrix,
    is_single: bool,
    deadline: Deadline,
) -> list[tuple[int, int, float]]: ...
def nearest_lists(distance: _Matrix, count: int, deadline: Deadline) -> list[list[int]]: ...
def nearest_neighbour_ring(distance: _Matrix, first: int, deadline: Deadline) -> list[int]: ...
def ring_prices(
    distance: _Matrix,
    orders: _Orders,
    slots: Sequence[int],
    ranks: int,
    least: int,
    deadline: Deadline,
) -> list[float]: ...

class RoundsPrice:
    def __init__(self, ranks: int, rounds: Sequence[_Orders], weights: Sequence[float]) -> None: ...
    def prices(
        self,
        distance: _Matrix,
        orders: _Orders,
        slots: Sequence[int],
        ranks: int,
        least: int,
        deadline: Deadline,
    ) -> list[float]: ...

class TreesPrice:
    def __init__(self, parents: Sequence[_Orders]) -> None: ...
    def prices(
        self,
        distance: _Matrix,
        orders: _Orders,
        slots: Sequence[int],
        ranks: int,
        least: int,
        deadline: Deadline,
    ) -> list[float]: ...

class SubsetAnnealing:
    def __init__(
        self,
        distance: _Matrix,
        ring: Sequence[int],
        seed: int,
        deadline: Deadline | None = None,
    ) -> None: ...
    def run(self, moves: int, temperature: float, deadline: Deadline | None = None) -> int: ...
    @property
    def ring(self) -> list[int]: ...
    @property
    def cost(self) -> float: ...

class Ascent:
    def __init__(self, distance: _Matrix, upper: float) -> None: ...
    def run(self, iterations: int, deadline: Deadline | None = None) -> bool: ...
    def candidates(
        self, by_alpha: int, by_distance: int, deadline: Deadline | None = None
    ) -> list[list[int]]: ...
    @property
    def bound(self) -> float: ...

class Search:
    def __init__(
        self,
        distance: _Matrix,
        candidates: Sequence[Sequence[int]],
        order: Sequence[int],
        seed: int,
        enough: float,
        depth: int,
        temperature: float,
    ) -> None: ...
    def shake(self, kicks: int) -> None: ...
    def run(self, kicks: int, seconds: float) -> None: ...
    @property
    def is_enough(self) -> bool: ...
    @property
    def is_settled(self) -> bool: ...
    @property
    def best(self) -> list[int]: ...
    @property
    def best_cost(self) -> float: ...
    @property
    def current(self) -> list[int]: ...
    @property
    def current_cost(self) -> float: ...
    @property
    def kicks(self) -> int: ...

class ContentionStages:
    def __init__(
        self,
        starts: Sequence[int],
        sources: Sequence[int],
        destinations: Sequence[int],
        sizes_bytes: Sequence[float],
        counts: Sequence[float],
        goes_round: Sequence[bool],
    ) -> None: ...

class ContentionProblem:
    def __init__(
        self,
        group_of: Sequence[int],
        send_s_byte: Sequence[float],
        receive_s_byte: Sequence[float],
        uplink_send_s_byte: Sequence[float],
        uplink_receive_s_byte: Sequence[float],
        latency_s: _Matrix,
        tie_distance: _Matrix,
        loads: ContentionStages,
        waits: ContentionStages,
    ) -> None: ...

class ContentionClock:
    def __init__(self, problem: ContentionProblem, ranks: int) -> None: ...
    def times_s(self, placements: _Orders, least: int, deadline: Deadline) -> list[float]: ...

def flow_time_s(
    ranks: int,
    rounds: Sequence[int],
    senders: Sequence[int],
    receivers: Sequence[int],
    sizes_bytes: Sequence[float],
    delays_s: Sequence[float],
    after: Sequence[int],
    path_starts: Sequence[int],
    path_links: Sequence[int],
    rates: Sequence[float],
    bursts: Sequence[float],
    peak_bytes_s: float,
    empty_share: float,
    reduction_s_byte: float,
    cycle_s: float,
    slice_s: float,
    begins_s: Sequence[float],
) -> float: ...

class ContentionSearch:
    def __init__(
        self,
        problem: ContentionProblem,
        order: Sequence[int],
        seed: int,
        steps: int,
        heat: float,
    ) -> None: ...
    def run(self, seconds: float) -> None: ...
    @property
    def is_done(self) -> bool: ...
    @property
    def steps(self) -> int: ...
    @property
    def order(self) -> list[int]: ...
    @property
    def current(self) -> list[int]: ...
    @property
    def current_time_s(self) -> float: ...

class _Annealing:
    def restart(self, order: Sequence[int]) -> None: ...
    def run(
        self,
        moves: int,
        softness: float,
        temperature: float,
        deadline: Deadline | None = None,
    ) -> int: ...
    @property
    def best(self) -> list[int]: ...
    @property
    def best_cost(self) -> float: ...
    @property
    def current(self) -> list[int]: ...
    @property
    def current_cost(self) -> float: ...

class RoundsAnnealing(_Annealing):
    def __init__(
        self,
        distance: _Matrix,
        rounds: Sequence[_Orders],
        weights: Sequence[float],
        order: Sequence[int],
        seed: int,
        deadline: Deadline | None = None,
    ) -> None: ...

class LocalRoundsAnnealing(RoundsAnnealing): ...

class TreesAnnealing(_Annealing):
    def __init__(
        self,
        distance: _Matrix,
        parents: Sequence[Sequence[int]],
        order: Sequence[int],
        seed: int,
        deadline: Deadline | None = None,
    ) -> None: ...
