"""`--collective`: names of collectives, separated by commas."""

from __future__ import annotations

from typing import Any

import click

from plink.plans.names import checked_collectives


class CollectivesType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """Such as `all-gather,reduce-scatter`; one that is named twice is called twice."""

    name = "NAMES"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Return the names, or an error that says which there are."""
        if isinstance(value, tuple):
            return value
        return checked_collectives([name.strip() for name in str(value).split(",")])
