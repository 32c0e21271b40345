"""Checkpoints of a sparse training, which another number of ranks can take over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from plink.base.errors import WrongUseError
from plink.torch.sparse.part import Part

Kept = Mapping[str, Any]
"""A `state_dict`."""

# What merged states have in place of a rank, and of the number of ranks.
ANY = None


def state_of(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return the state of each part on this rank."""
    for part in parts:
        part.weights.follow()
    return [
        {
            "names": list(part.pool.names),
            "residual": part.state.residual,
            "velocity": part.state.velocity,
            "owned": torch.from_numpy(part.state.owned.copy()),
            "master": part.weights.master,
        }
        for part in parts
    ]


def load(parts: Sequence[Part], kept: Sequence[Kept]) -> None:
    """Restore the state of parts from a checkpoint.

    Raises:
        WrongUseError: the checkpoint is of other parameters, or of another type of them.
    """
    shapes = [(list(part.pool.names), part.chunks.items) for part in parts]
    if shapes != [(one["names"], one["residual"].numel()) for one in kept]:
        raise WrongUseError("the checkpoint is of other parameters")
    # Parameters of 16 bits have float32 weights besides.
    has_master = [part.weights.master is not None for part in parts]
    if has_master != [one["master"] is not None for one in kept]:
        raise WrongUseError("the checkpoint is of parameters of another type")
    for part, one in zip(parts, kept, strict=True):
        part.state.residual.copy_(one["residual"])
        part.state.velocity.copy_(one["velocity"])
        part.state.owned = np.array(one["owned"])
        if part.weights.master is not None:
            part.weights.follow()
            part.weights.master.copy_(one["master"])
            part.weights.write()


def verify_of(kept: Kept, rank: int, ranks: int, csc: Mapping[str, Any]) -> None:
    """Check that this rank can continue from a checkpoint.

    Raises:
        WrongUseError: it is another rank's, or of other ranks or options.
    """
    if kept["ranks"] is not ANY and (kept["rank"], kept["ranks"]) != (rank, ranks):
        raise WrongUseError(
            f"the checkpoint is of rank {kept['rank']} of {kept['ranks']}, and this is rank {rank} "
            f"of {ranks}",
            "give SparseSGD.merged of the checkpoints of all ranks to another number of ranks",
        )
    if any(kept["csc"][name] != csc[name] for name in ("chunk", "correction")):
        raise WrongUseError("the checkpoint is of another chunk or correction")


def merge_states(states: Sequence[Kept]) -> dict[str, Any]:
    """Merge the checkpoints of all ranks into one for any number of ranks.

    What is held back becomes the mean over the ranks, for each: whatever their number is, its mean
    over them is what it was, and the weights get no less of it and no more.

    Raises:
        WrongUseError: they are not of all ranks of one training, at one step.
    """
    count = len(states)
    states = sorted(states, key=lambda state: state["rank"] or 0)
    of_all = [(state["rank"], state["ranks"], state["step"]) for state in states]
    if not states or of_all != [(rank, count, states[0]["step"]) for rank in range(count)]:
        raise WrongUseError("checkpoints of all ranks are merged, of one step")
    parts = [dict(part) for part in states[0]["parts"]]
    is_shared = states[0]["csc"]["correction"] == "paper"
    for i, part in enumerate(parts):
        for name in ("residual", *(() if is_shared else ("velocity",))):
            part[name] = sum(state["parts"][i][name] for state in states) / count
    return {**states[0], "rank": ANY, "ranks": ANY, "parts": parts}
