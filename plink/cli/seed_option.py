"""`--seed`, as the commands that search or draw by chance have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def with_seed_option(about: str = "Seed of the random choices.") -> Callable[[Function], Function]:
    """Add `--seed`, which the command receives as `seed`."""
    return click.option(
        "--seed",
        type=click.IntRange(0, (1 << 63) - 1),
        default=0,
        show_default=True,
        help=about,
    )
