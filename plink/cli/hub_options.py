"""Options that the verbs of `plink hub` share."""

from __future__ import annotations

import click

secret_file = click.option(
    "--secret-file", required=True, metavar="FILE", help="The servers' secret."
)


def _each(_: object, __: object, words: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses that stand for themselves, or between commas, as workers name them."""
    return tuple(part.strip() for word in words for part in word.split(",") if part.strip())


servers = click.argument("servers", nargs=-1, required=True, metavar="HOST:PORT...", callback=_each)
namespace = click.option(
    "--name", "namespace", default="job", show_default=True, metavar="NAME", help="Of the service."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")


def print_done(text: str, done: object, *, as_json: bool) -> None:
    """What a verb has done, for people or as JSON."""
    from plink.base.text import json_text  # noqa: PLC0415  numpy would slow `--help`

    click.echo(json_text(done) if as_json else text)
