"""Groups of all ranks in which only a missing call times out, not a slow start or a paused rank."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any
from unittest import mock

import torch.distributed as dist

from plink.base.replacing import replace
from plink.engine import Options
from plink.torch import backend
from pytorch.processes import GROUP_TIMEOUT_S


def new_group_with_timeout(timeout_s: float) -> Any:
    """Create a group of all ranks with a short timeout, and let all ranks arrive.

    plink takes the timeout of a group for its set-up and for silent ranks, too, where a rank that a
    busy machine does not run would be blamed; here, these limits stay `GROUP_TIMEOUT_S`.

    Args:
        timeout_s: timeout of the group, in s.
    """
    complete = backend._complete_options

    def complete_patiently(
        options: Options, addresses: list[str], timeout: datetime.timedelta, ranks: Sequence[int]
    ) -> Options:
        completed = complete(options, addresses, timeout, ranks)
        return replace(
            completed, setup_timeout_s=GROUP_TIMEOUT_S, silence_timeout_s=GROUP_TIMEOUT_S
        )

    with mock.patch.object(backend, "_complete_options", complete_patiently):
        group = dist.new_group(timeout=datetime.timedelta(seconds=timeout_s))
    dist.barrier()
    return group
