"""`plink hub`: servers that aggregate gradients and step the optimiser, and their sizing."""

from __future__ import annotations

import click

from plink.cli.hub_serve import serve
from plink.cli.hub_services import checkpoint, create, delete, restore, status
from plink.cli.hub_sizing import bounds, cost
from plink.cli.verb_group import VerbGroup


@click.group(
    cls=VerbGroup,
    no_args_is_help=True,
    epilog="Example: plink hub bounds --model resnet50 --workers 8 --link 10gbit",
)
def command() -> None:
    """Run servers that aggregate gradients and step the optimiser, and compute what they need."""


for _verb in (serve, create, status, checkpoint, restore, delete, bounds, cost):
    command.add_command(_verb)
