"""How the ranks of a group agree on the order of their collectives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.engine.options import Options as EngineOptions
from plink.training.control.settings import Settings

MODES = ("tree",)


@dataclass(frozen=True)
class Control:
    """The same on all ranks, which is verified.

    Args:
        mode: `tree`: readiness goes up the plan's tree, and what is released comes down.
        cycle_ms: while collectives are under way, those that are ready wait for others to share a
            buffer with, at most so long.
        fusion_bytes: of such a buffer at most.
        stall_warning_s: after so long every rank is told who keeps a collective waiting, and again
            after as long.
        stall_error_s: after so long it fails; None for never.
    """

    mode: str = "tree"
    cycle_ms: float = 1.0
    fusion_bytes: int = 64 << 20
    stall_warning_s: float = 60.0
    stall_error_s: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise WrongUseError(f"there is no mode '{self.mode}'", f"there are {', '.join(MODES)}")
        if not 0.0 <= self.cycle_ms <= 1000.0:
            raise WrongUseError(f"cycle_ms is {self.cycle_ms:g}, not between 0 and 1000")
        if self.fusion_bytes < 1:
            raise WrongUseError(f"fusion_bytes is {self.fusion_bytes}, which holds nothing")
        for name in ("stall_warning_s", "stall_error_s"):
            seconds = getattr(self, name)
            if seconds is not None and not (seconds > 0.0 and math.isfinite(seconds)):
                raise WrongUseError(f"{name} is {seconds}, not a positive time")

    @property
    def settings(self) -> Settings:
        """Of the machines."""
        return Settings(
            fusion_bytes=self.fusion_bytes,
            cycle_s=self.cycle_ms / 1000.0,
            stall_warning_s=self.stall_warning_s,
            stall_error_s=self.stall_error_s,
        )


@dataclass(frozen=True)
class Options(EngineOptions):
    """Options of a group: those of its engine, and how its ranks agree.

    Args:
        control: None where all ranks begin the same collectives in the same order.
    """

    control: Control | None = None
