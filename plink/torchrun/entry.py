"""Entry point by which torchrun learns of plink's rendezvous; every run loads it: few imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousParameters


def creator() -> Callable[[RendezvousParameters], RendezvousHandler]:
    """Return what makes the handler of an agent, for the entry point group `torchrun.handlers`."""
    return _handler


def _handler(params: RendezvousParameters) -> RendezvousHandler:
    from plink.base.errors import PlinkError  # noqa: PLC0415  only where plink was asked for
    from plink.torchrun.handler import handler  # noqa: PLC0415

    try:
        return handler(params)
    except PlinkError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        # torchrun would show the way to any other exception.
        raise SystemExit(f"plink: {error}{hint}") from None
