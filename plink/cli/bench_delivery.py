"""What `plink bench` does with a result."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click
from rich.console import RenderableType

from plink.base.errors import PartialResultError, PlinkError
from plink.files import document
from plink.show.terminal.paper import paper


def deliver(
    options: Mapping[str, Any],
    data: dict[str, Any],
    *,
    picture: Callable[[], str],
    tables: Callable[[], RenderableType],
    stopped: PlinkError | None,
) -> int:
    """Write and print a result; return the exit code.

    Args:
        options: of the command: `output`, `plot` and `as_json`.
        data: the result for programs.
        picture: draws it, as SVG.
        tables: sets it out for a person.
        stopped: why not all rounds ran, or None.

    Raises:
        PartialResultError: not all rounds ran; what was measured before has been printed.
    """
    output: str | None = options["output"]
    if output is not None:
        document.write_bytes(output, document.dump(data))
    if options["plot"] is not None:
        document.write_bytes(options["plot"], picture().encode())
    if output != document.STANDARD_STREAM:
        if options["as_json"]:
            click.echo(json.dumps(data, ensure_ascii=False))
        else:
            paper(None).console.print(tables())
    if stopped is not None:
        raise PartialResultError(f"not all rounds ran: {stopped}", stopped.hint)
    return 0


def files_in(orders: str) -> list[str]:
    """The words of `--orders` that may be files."""
    return [word.strip().removeprefix("file:") for word in orders.split(",")]
