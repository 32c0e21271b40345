"""Entry point for torchrun's rendezvous handlers; loaded by every run, so it imports little."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousParameters


def creator() -> Callable[[RendezvousParameters], RendezvousHandler]:
    """Return the factory of an agent's rendezvous handler, for `torchrun.handlers`."""
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
