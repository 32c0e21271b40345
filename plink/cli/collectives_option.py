"""Option `--collective`: comma-separated names of collectives."""

from __future__ import annotations

from typing import Any

import click

from plink.plans.names import checked_collectives


class CollectivesType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Type of `all-gather,reduce-scatter`; a repeated name means repeated calls."""

    name = "NAMES"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Return the names, or fail with a list of the existing ones."""
        if isinstance(value, tuple):
            return value
        return checked_collectives([name.strip() for name in str(value).split(",")])
