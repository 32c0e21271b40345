"""Arguments of collectives that callers may leave out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from plink.torch.work import NO_TIMEOUT


def given(*arguments: Any) -> list[Any]:
    """Those that were given."""
    return [argument for argument in arguments if argument is not None]


def timeout_of(args: Sequence[Any]) -> timedelta:
    """Of the options, where there are any."""
    timeout = getattr(args[0], "timeout", None) if args else None
    return timeout if isinstance(timeout, timedelta) else NO_TIMEOUT
