from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_Matrix = npt.NDArray[np.float64]

def cheapest_ring(distance: _Matrix) -> list[int]: ...
def one_tree_length(distance: _Matrix, penalty: Sequence[float]) -> float: ...

class Ascent:
    def __init__(self, distance: _Matrix, upper: float) -> None: ...
    def run(self, iterations: int) -> bool: ...
    def candidates(self, by_alpha: int, by_distance: int) -> list[list[int]]: ...
    @property
    def bound(self) -> float: ...
    @property
    def penalty(self) -> list[float]: ...

class Search:
    def __init__(
        self,
        distance: _Matrix,
        candidates: Sequence[Sequence[int]],
        order: Sequence[int],
        seed: int,
        enough: float,
    ) -> None: ...
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
    @property
    def idle_kicks(self) -> int: ...

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
    ) -> None: ...
    def set_loads(
        self,
        starts: Sequence[int],
        sources: Sequence[int],
        destinations: Sequence[int],
        sizes_bytes: Sequence[float],
        counts: Sequence[float],
    ) -> None: ...
    def set_waits(
        self,
        starts: Sequence[int],
        sources: Sequence[int],
        destinations: Sequence[int],
        counts: Sequence[float],
        goes_round: Sequence[bool],
    ) -> None: ...

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
    @property
    def current_tie(self) -> float: ...
