"""`plink autotune`: keep a plan fitted to the network; for now, look again at how one was kept."""

from __future__ import annotations

import click


@click.command(epilog="Example: plink autotune --replay autotune.log")
@click.option(
    "--replay",
    "log",
    metavar="LOG",
    required=True,
    help="Decide again on what this log has measured, and compare.",
)
@click.option("--all", "has_all", is_flag=True, help="Print every decision, not changes only.")
@click.option("--json", "as_json", is_flag=True, help="Print all decisions as JSON.")
def command(log: str, has_all: bool, as_json: bool) -> int:
    """Replay a log of the tuner: what was measured, and what is decided on it.

    A log (`-`: standard input) is written while a plan is tuned. Exit code 4: the decisions are
    others than the log has.
    """
    from plink.cli.autotune_action import run_replay  # noqa: PLC0415  numpy would slow `--help`

    return run_replay(log, has_all=has_all, as_json=as_json)
