"""Manual pages (man 1) of plink's commands, generated from their `--help`.

`python -m plink.cli.manual FOLDER` writes them: when plink is built, and for whoever packages it.
They are in roff (groff_man(7), mandoc_roff(7)), as ASCII alone.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from plink import __version__
from plink.base.errors import (
    EXIT_CHANGED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_PARTIAL,
    EXIT_WRONG_USE,
)
from plink.base.request import GENERAL
from plink.cli import COMMANDS, cli
from plink.cli.options import list_sections

_STATUS = {
    0: "Done.",
    EXIT_FAILED: "Failed.",
    EXIT_WRONG_USE: "Wrong use.",
    EXIT_PARTIAL: "Partly done; what is missing is named.",
    EXIT_CHANGED: "No longer true: the network changed, a launcher did not keep the order, or a "
    "log's decisions come out differently.",
    EXIT_INTERRUPTED: "Interrupted before there was a result.",
}
# No hyphens within words, and no wider spaces: what is shown can be copied.
_LAYOUT = ".nh\n.ad l"
_WIDTH = 78
# What roff would draw as something else: hyphens, typographic quotes, accents.
_DRAWN = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_CODE = re.compile(r"`([^`]+)`")
_TERM = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")


def pages(date: str) -> dict[str, str]:
    """Return the roff text of every page by name, such as `plink-order`; a date is 2026-01-31."""
    contexts = list(_contexts(click.Context(cli, info_name="plink", **cli.context_settings)))
    names = [_name(context) for context in contexts]
    return {_name(context): _page(context, names, date) for context in contexts}


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    group = context.command
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        command = group.get_command(context, name) if isinstance(group, click.Group) else None
        if command is not None:
            yield from _contexts(click.Context(command, info_name=name, parent=context))


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _page(context: click.Context, names: Sequence[str], date: str) -> str:
    command, name = context.command, _name(context)
    about = _about(context).rstrip(".")
    usage = " ".join(map(_escape, command.collect_usage_pieces(context)))
    parts = [
        f'.TH {_escape(name.upper())} 1 "{date}" "plink {__version__}" "plink\\(aqs manual"',
        _LAYOUT,
        f".SH NAME\n{_escape(name)} \\- {_escape(about)}",
        f".SH SYNOPSIS\n{_wrap(f'{_bold(context.command_path)} {usage}')}",
        f".SH DESCRIPTION\n{_paragraphs(command.help or about)}",
        *_options(context),
    ]
    if isinstance(command, click.Group):
        parts.append(".SH COMMANDS\n" + "\n".join(_commands(context, command)))
    if command.epilog:
        examples = [each.strip() for each in command.epilog.split("Example:") if each.strip()]
        heading = "EXAMPLE" if len(examples) == 1 else "EXAMPLES"
        parts.append(f".SH {heading}\n" + "\n.PP\n".join(map(prose, examples)))
    if context.parent is None:
        codes = [_item(_bold(str(code)), text) for code, text in _STATUS.items()]
        parts.append(".SH EXIT STATUS\n" + "\n".join(codes))
    others = [other for other in names if other != name and _is_near(other, name)]
    parts.append(".SH SEE ALSO\n" + ",\n".join(rf"{_bold(other)}(1)" for other in others))
    return "\n".join(parts) + "\n"


def _options(context: click.Context) -> Iterator[str]:
    for place, (heading, records) in enumerate(list_sections(context).items()):
        if place == 0:
            yield ".SH OPTIONS"
        if heading != GENERAL:
            yield f".SS {_escape(heading)}"
        yield from (_item(_embolden(_TERM, names), text) for names, text in records)


def _commands(context: click.Context, group: click.Group) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield _item(_bold(name), _about(click.Context(command, context, name)))


def _about(context: click.Context) -> str:
    """Return a command's one-line description, as the help of its parent command has it."""
    is_listed = context.parent is not None and context.parent.command is cli
    if is_listed and context.info_name in COMMANDS:
        return COMMANDS[context.info_name][1]
    return context.command.get_short_help_str(limit=1000)


def _item(heading: str, text: str) -> str:
    return f".TP\n{heading}\n{prose(text)}"


def _is_near(other: str, name: str) -> bool:
    """Return whether two commands are equal, siblings, or parent and child (for SEE ALSO)."""
    above = name.rpartition("-")[0] or name
    return other in ("plink", above) or other.startswith((f"{above}-", f"{name}-"))


def _escape(text: str) -> str:
    """Return text escaped so that roff prints it literally."""
    return "".join(
        _DRAWN.get(letter) or (letter if letter.isascii() else rf"\[u{ord(letter):04X}]")
        for letter in text
    )


def _bold(text: str) -> str:
    return rf"\fB{_escape(text)}\fR"


def _embolden(pattern: re.Pattern[str], text: str) -> str:
    """Convert text to roff in which what a pattern captures is bold."""
    parts = enumerate(pattern.split(text))
    return "".join(_bold(part) if place % 2 else _escape(part) for place, part in parts)


def prose(text: str) -> str:
    """Convert a paragraph to roff in short lines, with text in backquotes in bold."""
    return _wrap(_embolden(_CODE, text))


def _wrap(roff: str) -> str:
    """Return roff text in short lines, none of which reads as a roff command."""
    lines = textwrap.wrap(roff, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{line}" if line[:1] in (".", "'") else line for line in lines)


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(prose(" ".join(each.split())) for each in text.split("\n\n"))


def main(arguments: list[str]) -> None:
    """Write the manual pages of all commands into a folder."""
    if len(arguments) != 1:
        sys.exit("usage: python -m plink.cli.manual FOLDER")
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    # The date of a reproducible build (reproducible-builds.org), or today's.
    asked = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(asked), timezone.utc) if asked else datetime.now(timezone.utc)
    for name, text in pages(now.date().isoformat()).items():
        (folder / f"{name}.1").write_text(text, encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
