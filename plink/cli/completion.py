"""`plink completion`: print a shell's completion script."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
# The name that click gives it, for a program that is called plink.
VARIABLE = "_PLINK_COMPLETE"


@click.command(
    epilog="Example: plink completion bash > ~/.local/share/bash-completion/completions/plink"
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.option(
    "--json", "as_json", is_flag=True, help="Print the shell's name and the script as JSON."
)
def command(shell: str, *, as_json: bool) -> int:
    """Print a script that completes plink's commands, options, their values and files.

    For this shell alone, bash: eval "$(plink completion bash)". For every new one, keep the script
    where the shell looks for it; for zsh in a file _plink in a folder of its fpath, for fish in
    ~/.config/fish/completions/plink.fish.
    """
    script = script_for(shell)
    if as_json:
        from plink.cli.json_output import print_json_line  # noqa: PLC0415  the script is needed at once
        from plink.files.outputs import Completion  # noqa: PLC0415

        print_json_line(Completion(shell, script))
    else:
        click.echo(script.rstrip("\n"))
    return 0


def script_for(shell: str) -> str:
    """Return the script with which a shell asks plink for completions."""
    from click import shell_completion as click_completes  # noqa: PLC0415  rarely needed

    of_shell: dict[str, type[click_completes.ShellComplete]] = {
        "bash": click_completes.BashComplete,
        "zsh": click_completes.ZshComplete,
        "fish": click_completes.FishComplete,
    }
    asking = of_shell[shell](command, {}, "plink", VARIABLE)
    # Not bash's own, which starts a bash to see that it is version 4.4 or later.
    return click_completes.ShellComplete.source(asking)
