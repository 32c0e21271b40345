"""Command group, such as `plink hub`, that has verbs of its own."""

from __future__ import annotations

import click

from plink.base.errors import WrongUseError


class VerbGroup(click.Group):
    """Command group that lists its verbs in the order of use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb by its name, or raise with a list of the existing ones."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            raise WrongUseError(
                f"{ctx.command_path} has no verb {args[0]!r}, expected {', '.join(self.commands)}",
                f"{ctx.command_path} --help",
            )
        return super().resolve_command(ctx, args)
