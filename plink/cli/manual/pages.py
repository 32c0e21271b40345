"""Manual pages of all commands, made from their help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from plink import __version__
from plink.base.errors import (
    EXIT_CHANGED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_PARTIAL,
    EXIT_WRONG_USE,
)
from plink.cli import COMMANDS, cli
from plink.cli.manual.roff import bold, escape_text, paragraphs, prose, term, wrap_lines

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


def pages(date: str) -> dict[str, str]:
    """Return the roff text of every page, by name, such as `plink-autotune-serve`.

    Args:
        date: date of the pages, as in 2026-01-31.
    """
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
    usage = " ".join(map(escape_text, command.collect_usage_pieces(context)))
    parts = [
        f'.TH {escape_text(name.upper())} 1 "{date}" "plink {__version__}" "plink\\(aqs manual"',
        _LAYOUT,
        f".SH NAME\n{escape_text(name)} \\- {escape_text(about)}",
        f".SH SYNOPSIS\n{wrap_lines(f'{bold(context.command_path)} {usage}')}",
        f".SH DESCRIPTION\n{paragraphs(command.help or about)}",
        *_options(context),
    ]
    if isinstance(command, click.Group):
        parts.append(".SH COMMANDS\n" + "\n".join(_commands(context, command)))
    if command.epilog:
        examples = [each.strip() for each in command.epilog.split("Example:") if each.strip()]
        heading = "EXAMPLE" if len(examples) == 1 else "EXAMPLES"
        parts.append(f".SH {heading}\n" + "\n.PP\n".join(map(prose, examples)))
    if context.parent is None:
        codes = [_item(bold(str(code)), text) for code, text in _STATUS.items()]
        parts.append(".SH EXIT STATUS\n" + "\n".join(codes))
    others = [other for other in names if other != name and _is_near(other, name)]
    parts.append(".SH SEE ALSO\n" + ",\n".join(rf"{bold(other)}(1)" for other in others))
    return "\n".join(parts) + "\n"


def _options(context: click.Context) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            heading = getattr(parameter, "section", "")
            sections.setdefault(heading, []).append(_item(term(record[0]), record[1]))
    for place, (heading, items) in enumerate(sections.items()):
        start = [".SH OPTIONS"] if place == 0 else []
        yield "\n".join([*start, *([f".SS {escape_text(heading)}"] if heading else []), *items])


def _commands(context: click.Context, group: click.Group) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield _item(bold(name), _about(click.Context(command, context, name)))


def _about(context: click.Context) -> str:
    """Return a command's one-line description, as the help of its parent command has it."""
    is_listed = context.parent is not None and context.parent.command is cli
    if is_listed and context.info_name in COMMANDS:
        return COMMANDS[context.info_name][1]
    return context.command.get_short_help_str(limit=1000)


def _item(heading: str, text: str) -> str:
    return f".TP\n{heading}\n{prose(text)}"


def _is_near(other: str, name: str) -> bool:
    """Return whether two commands are equal, siblings, or parent and child."""
    above = name.rpartition("-")[0] or name
    return other in ("plink", above) or other.startswith((f"{above}-", f"{name}-"))
