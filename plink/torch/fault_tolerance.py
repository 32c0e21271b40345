"""Process group on plink's engine that torchft's managers reconfigure.

    from plink.torch.fault_tolerance import ProcessGroupPlink
    manager = torchft.Manager(pg=ProcessGroupPlink(timeout=timedelta(seconds=30)), ...)

It needs the package torchft (`docs/torch.md`, Members that come and go).
"""

from __future__ import annotations

from datetime import timedelta

from torch.distributed.distributed_c10d import Store
from torchft.process_group import ProcessGroupWrapper

from plink.engine import Options
from plink.torch.backend import create
from plink.torch.group import PlinkGroup

_TIMEOUT = timedelta(seconds=60)


class ProcessGroupPlink(ProcessGroupWrapper):  # type: ignore[misc]
    """Process group whose members torchft changes from step to step.

    With `PLINK_PLAN` each set of members aggregates along that plan without those that are lost,
    whatever their number; hosts that it does not have are added to it.

    Args:
        timeout: of set-up and of collectives.
        options: of the engine; None for the defaults.
    """

    def __init__(self, timeout: timedelta = _TIMEOUT, options: Options | None = None) -> None:
        super().__init__(timeout)
        self._options = options

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch's
        """Return the backend's name that torchft shows."""
        return "torchft-plink"

    def errored(self) -> Exception | None:
        """Return the group's failure, which names the lost rank; None if it has not failed."""
        return self._pg.failure() if isinstance(self._pg, PlinkGroup) else None

    def shutdown(self) -> None:
        """Abort the group's engine, so that other ranks learn of it at once."""
        if isinstance(self._pg, PlinkGroup):
            self._pg.abort()
        super().shutdown()

    def _create_pg(self, store: Store, rank: int, world_size: int) -> PlinkGroup:
        return create(store, rank, world_size, self._timeout, self._options, members_change=True)
