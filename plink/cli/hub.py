"""`plink hub`: servers that aggregate gradients and step the optimiser, and their sizing."""

from __future__ import annotations

import importlib

import click

from plink.cli.verb_group import VerbGroup

# Each verb is the `command` of a module, in the order in which they are used. The modules import
# what is heavy when their verb runs.
VERBS = {
    "serve": "plink.cli.hub_serve",
    "create": "plink.cli.hub_create",
    "status": "plink.cli.hub_status",
    "checkpoint": "plink.cli.hub_checkpoint",
    "restore": "plink.cli.hub_restore",
    "delete": "plink.cli.hub_delete",
    "bounds": "plink.cli.hub_bounds",
    "cost": "plink.cli.hub_cost",
}


@click.group(
    cls=VerbGroup,
    no_args_is_help=True,
    epilog="Example: plink hub bounds --model resnet50 --workers 8 --link 10gbit",
)
def command() -> None:
    """Run servers that aggregate gradients and step the optimiser, and compute what they need."""


for _name, _module in VERBS.items():
    command.add_command(importlib.import_module(_module).command, _name)
