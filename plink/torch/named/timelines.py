"""Recorders of timelines: which ranks write one, and where."""

from __future__ import annotations

import logging
import os
import secrets

from torch.distributed.distributed_c10d import Store

from plink.torch.named.options import Control
from plink.training.timeline.lines import Head
from plink.training.timeline.place import VARIABLE, ahead_us, clock_name, file_of
from plink.training.timeline.recorder import Recorder

_LOG = logging.getLogger("plink.timeline")
_KEY = "timeline"


def recorder_of(
    control: Control, store: Store, rank: int, ranks: int, *, is_part: bool
) -> Recorder | None:
    """Create the recorder of a rank's timeline; None if not asked for, or not writable.

    Args:
        control: of the group.
        store: with keys of this group alone.
        rank: in the group.
        ranks: of the group.
        is_part: of the job's ranks, the group has some.
    """
    given = control.timeline or os.environ.get(VARIABLE)
    if not given:
        return None
    # Whoever comes first says what the group is called; nobody waits for those without a timeline.
    group = store.compare_set(_KEY, "", secrets.token_hex(4)).decode()
    path = file_of(given, rank, group if is_part else "")
    head = Head(rank, ranks, group, clock_name(), ahead_us(), mode=control.mode)
    try:
        return Recorder(path, head)
    except OSError as error:
        _LOG.warning("training goes on without a timeline: %s: %s", path, error.strerror or error)
        return None
