"""Options of how the ranks of a group agree on the order of their collectives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from plink.base.arguments import check_choice, check_instance, check_integer, check_real, check_text
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.engine.options import Options as EngineOptions
from plink.training.control.settings import Settings

MODES = ("tree", "graph", "bitvector", "full", "full-tree")
SYNCS = ("blocking", "nonblocking")

_SLEEP = re.compile(r"local|global(?:\(([1-9]\d{0,5})\))?")
_MOST_CACHED = 1 << 20
_LEAST_STALL_S = 1e-9


@dataclass(frozen=True)
class Control:
    """Options of the negotiation, the same on all ranks, which is verified.

    Args:
        mode: `tree`: readiness goes up the plan's tree, and what is released comes down. `graph`:
            as in `tree` for an iteration, then in the order that follows from the graph of the
            computation, without messages. To compare with, in cycles: `full`: rank 0 hears all
            names from all ranks; `full-tree`: along the plan's tree; `bitvector`: positions of a
            cache, as bits.
        cycle_ms: in mode `tree`, while collectives are under way, those that are ready wait for
            others to share a buffer with, at most so long. In modes with cycles, of a cycle.
        fusion_bytes: of such a buffer at most; 0 where only the members of a group share one.
        stall_warning_s: seconds after which every rank is told who keeps a collective waiting, and
            again after as long; up to 5 s later if a rank does not answer.
        stall_error_s: seconds after which it fails, likewise up to 5 s later; None for never.
        cache: of mode `bitvector`, collectives that it holds; it grows where that is too few.
        sleep: in modes with cycles: `local`, for what is left of a cycle; `global(N)`, every N
            cycles for the least that any rank would, `global` every cycle.
        sync: of mode `bitvector`: whether ranks await each other within a cycle, `blocking`, or
            sleep on and look when they wake, `nonblocking`.
        timeline: a folder, or a file's name that ends in `.json`, where each rank writes what
            becomes of each collective; None for what `PLINK_TIMELINE` says. Ranks may differ in it.
    """

    mode: str = "tree"
    cycle_ms: float = 1.0
    fusion_bytes: int = 64 << 20
    stall_warning_s: float = 60.0
    stall_error_s: float | None = None
    cache: int = 1024
    sleep: str = "local"
    sync: str = "blocking"
    # Not part of what ranks compare.
    timeline: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_choice("sync", self.sync, SYNCS)
        check_integer("cache", self.cache, 1, _MOST_CACHED)
        check_integer("fusion_bytes", self.fusion_bytes, 0)
        check_real("cycle_ms", self.cycle_ms, 0.0, 1000.0)
        check_real("stall_warning_s", self.stall_warning_s, _LEAST_STALL_S)
        if self.stall_error_s is not None:
            check_real("stall_error_s", self.stall_error_s, _LEAST_STALL_S)
        if self.timeline is not None:
            check_text(
                "timeline", self.timeline, "the name of a folder, or of a file that ends in .json"
            )
        self._check_cycles()

    def _check_cycles(self) -> None:
        if not isinstance(self.sleep, str) or _SLEEP.fullmatch(self.sleep) is None:
            raise WrongUseError(
                f"sleep is {brief(self.sleep)}", "there are local, global and such as global(4)"
            )
        if self.sleep != "local" and self.mode in ("tree", "graph"):
            raise WrongUseError(f"sleep is for modes with cycles, mode '{self.mode}' has none")
        if self.sync == "nonblocking":
            if self.mode != "bitvector":
                raise WrongUseError(f"sync 'nonblocking' is for bitvector, not for '{self.mode}'")
            if self.sleep != "local":
                raise WrongUseError(
                    "ranks that do not block sleep for a whole cycle: there is nothing to agree",
                    "give sync='nonblocking', or sleep='global'",
                )

    @property
    def common_sleep_every(self) -> int:
        """Number of cycles after which all ranks sleep alike; 0 for never."""
        found = _SLEEP.fullmatch(self.sleep)
        if found is None or self.sleep == "local":
            return 0
        return int(found[1] or 1)

    @property
    def settings(self) -> Settings:
        """Settings of the negotiation machines, by these options."""
        return Settings(
            fusion_bytes=self.fusion_bytes,
            cycle_s=self.cycle_ms / 1000.0,
            stall_warning_s=self.stall_warning_s,
            stall_error_s=self.stall_error_s,
            cache=self.cache,
            common_sleep_every=self.common_sleep_every,
            is_blocking=self.sync == "blocking",
        )


@dataclass(frozen=True)
class Options(EngineOptions):
    """Options of a group: those of its engine, and how its ranks agree on an order.

    Args:
        control: None where all ranks begin the same collectives in the same order.

    Raises:
        WrongUseError: an option cannot be, or `deterministic` is asked for in a mode in which
            timing decides what shares a buffer, and so in which order numbers are added.
    """

    control: Control | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        control = self.control
        if control is not None:
            check_instance("control", control, Control, "a plink.torch.Control")
        if self.deterministic and control and control.mode != "graph" and control.fusion_bytes:
            raise WrongUseError(
                f"in mode '{control.mode}' timing decides what shares a buffer, "
                "which deterministic=True excludes",
                "mode='graph', or fusion_bytes=0 and fixed groups of gradients",
            )
