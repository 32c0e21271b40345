"""A command that has verbs of its own."""

from __future__ import annotations

import click

from plink.base.errors import WrongUseError


class VerbGroup(click.Group):
    """The verbs, in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which there are."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            raise WrongUseError(
                f"{ctx.command_path} has no verb {args[0]!r}, expected {', '.join(self.commands)}",
                f"{ctx.command_path} --help",
            )
        return super().resolve_command(ctx, args)
