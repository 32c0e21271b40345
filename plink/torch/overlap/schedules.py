"""Schedules by name that need no knowledge of the network."""

from __future__ import annotations

import re

from plink.base.errors import WrongUseError
from plink.torch.gradient_groups import size_bytes_of
from plink.torch.overlap.arrangement import Scheduling
from plink.training.overlap.heuristics import ddp, lazy, single, wfbp
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

_SIMPLE = {"ddp": ddp, "wfbp": wfbp, "single": single}
_LAZY = re.compile(r"lazy\((.+)\)")


def scheduling_of(text: str) -> Scheduling:
    """Return the scheduling function of a name, which cuts a profile into groups.

    Args:
        text: "ddp", "wfbp", "single", or "lazy(SIZE)" with a size such as "4MB" or in bytes.

    Raises:
        WrongUseError: nothing is called so.
    """
    if text in _SIMPLE:
        return _SIMPLE[text]
    found = _LAZY.fullmatch(text)
    if found is None:
        raise WrongUseError(
            f"there is no schedule '{text}'",
            "choose auto, asc, lazy, mg-wfbp, optimal, ddp, wfbp, single or lazy(4MB)",
        )
    said = found[1]
    theta_bytes = int(said) if said.isdecimal() else size_bytes_of(said)

    def lazily(profile: Profile) -> Schedule:
        return lazy(profile, theta_bytes)

    return lazily
