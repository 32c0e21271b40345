from collections.abc import Sequence

from plink.simulate.control.costs import Costs, Often
from plink.simulate.control.data import DataPlane
from plink.simulate.control.workload import Floats, Ints
from plink.training.control.events import Announced
from plink.training.control.settings import Settings
from plink.training.control.shape import Place

class Training:
    def __init__(
        self,
        mode: str,
        places: Sequence[Place],
        settings: Settings,
        calls: Sequence[Sequence[Announced]],
        costs: Costs,
        data: DataPlane,
        oversleep: Often | None,
        spinning: float,
        heeds_done: Sequence[int],
    ) -> None: ...
    def iterate(
        self, order: Ints, ready_s: Floats
    ) -> tuple[float, float, list[list[str]], list[float]]: ...
    @property
    def now_s(self) -> float: ...
    @property
    def messages(self) -> int: ...
    def waited_s(self, rank: int) -> float: ...
    def busy_s(self, rank: int) -> float: ...
    def heard_bytes(self, rank: int) -> int: ...
    def spreads_s(self) -> list[float]: ...
