"""Entry point for torchrun's rendezvous handlers; every torchrun loads it, so it imports little."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from plink.base.lazy import lazy_imports

with lazy_imports():
    from plink.base import errors
    from plink.torchrun import handler

if TYPE_CHECKING:
    from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousParameters


def creator() -> Callable[[RendezvousParameters], RendezvousHandler]:
    """Return a function that creates plink's rendezvous handler, as `torchrun.handlers` expects."""
    return _handler


def _handler(params: RendezvousParameters) -> RendezvousHandler:
    try:
        return handler.handler(params)
    except errors.PlinkError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        # torchrun would show the way to any other exception.
        raise SystemExit(f"plink: {error}{hint}") from None
