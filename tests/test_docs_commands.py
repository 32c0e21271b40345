"""Every command line of plink in the README and the docs is one that plink accepts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from plink.cli import cli
from test_docs import CHECKOUT, documents

# What a reader types stands in an indented or fenced block, or between backquotes.
_INLINE = re.compile(r"`(plink [^`]+)`")
# A row of a table may begin with `plink` and a figure.
_VERB = re.compile(r"[a-z-]")
# Where one command ends in a line of the shell.
_ENDS = {"|", "||", "&&", ";", "&", ">", "<", ">>", "2>", ")", "...", "…"}


def command_lines(text: str) -> Iterator[list[str]]:
    """The arguments of every `plink` that a page shows, as the shell would pass them."""
    is_fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith("    "):
            yield from commands_of(line)
        else:
            for found in _INLINE.findall(line):
                yield from commands_of(found)


def commands_of(line: str) -> Iterator[list[str]]:
    """What follows each word `plink` that begins a command."""
    try:
        lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:  # prose with an apostrophe
        return
    begins = True
    for place, word in enumerate(words):
        rest = words[place + 1 :]
        if word == "plink" and begins and rest and _VERB.match(rest[0]):
            end = next((at for at, item in enumerate(rest) if item in _ENDS), len(rest))
            yield rest[:end]
        # A prompt, a variable of the environment, or a program that runs another.
        begins = word in _ENDS or word in {"$", "do", "time", "sudo", "--"} or "=" in word


def refusal(arguments: list[str]) -> str | None:
    """Why plink would not accept the verb or an option of a command line; None where it does."""
    words = [word for word in arguments if not is_placeholder(word)]
    if not words or words[0].startswith("-"):
        return None
    context = click.Context(cli, info_name="plink", **cli.context_settings)
    command: click.Command = cli
    while isinstance(command, click.Group):
        if not words:
            return None
        name = words.pop(0)
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name!r}"
        command = found
    own = command.context_class(command, parent=context, **command.context_settings)
    try:
        command.make_parser(own).parse_args(words)
    except click.BadOptionUsage:  # prose names an option without its value
        return None
    except click.ClickException as error:
        return error.format_message()
    return None


def is_placeholder(word: str) -> bool:
    """Whether a word stands for others: `[OPTION...]`, `...`."""
    return word.startswith("[") or word.endswith("...]") or set(word) <= set(".…")


@pytest.mark.parametrize("page", documents(), ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_command_lines_are_accepted(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        pytest.skip("tells of old spellings")
    lines = command_lines(page.read_text())
    refused = {shlex.join(line): why for line in lines if (why := refusal(line)) is not None}
    assert refused == {}


def test_command_lines_are_found() -> None:
    page = (
        "Use `plink show a.json`, not `plinking`.\n\n    $ plink probe h.txt -o - | plink order -\n"
        "```\nA=1 plink run order.json -- ./job --flag # not this\n```\n"
    )
    assert list(command_lines(page)) == [
        ["show", "a.json"],
        ["probe", "h.txt", "-o", "-"],
        ["order", "-"],
        ["run", "order.json", "--", "./job", "--flag"],
    ]


def test_wrong_command_lines_are_refused() -> None:
    assert refusal(["probe", "hosts.txt", "-o", "cluster.json"]) is None
    assert refusal(["probe", "hosts.txt", "--no-such-option"]) is not None
    assert refusal(["probing", "hosts.txt"]) == "there is no command 'probing'"
