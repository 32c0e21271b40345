"""Options of sparse communication: which gradients are held back, and how."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from plink.base.arguments import check_choice, check_integer, check_real
from plink.base.errors import WrongUseError
from plink.training.sparse.corrections import CORRECTIONS, Correction


@dataclass(frozen=True)
class CSC:
    """Coarse-grained sparse communication (Sun et al. 2019, section 3.2).

    Args:
        sparsity: the share of chunks that a step does not send, from 0 to less than 1.
        chunk: elements of a chunk.
        warmup_steps: steps in which the share grows from 0.
        correction: what becomes of gradients that are held back: "paper" (decaying residuals, one
            velocity), "dgc" (velocities of each rank, nothing is lost) or "dgc-masked" (velocities
            are forgotten when they are sent).

    Raises:
        WrongUseError: one of them cannot be.
    """

    sparsity: float = 0.85
    chunk: int = 32_000
    warmup_steps: int = 500
    correction: Correction = "dgc"

    def __post_init__(self) -> None:
        check_real("sparsity", self.sparsity, 0.0)
        if self.sparsity >= 1:
            raise WrongUseError(
                f"sparsity is {self.sparsity}, expected at least 0 and less than 1",
                "sparsity=0.85 sends 15 % of the chunks",
            )
        check_integer("chunk", self.chunk, 1)
        check_integer("warmup_steps", self.warmup_steps, 0)
        check_choice("correction", self.correction, CORRECTIONS)

    def as_dict(self) -> dict[str, Any]:
        """Return all options by name, for checkpoints."""
        return asdict(self)
