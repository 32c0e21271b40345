"""Command-line options for click, made from the options of a verb's request."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from plink.base.errors import WrongUseError, option_speller, spell_arguments
from plink.base.request import REQUESTS, Option, check_request, list_options, option
from plink.cli.options import RATE, SIZE, FiniteRange, given_options, make_section_option

# Options of the daemons: `plink autotune serve` and `plink hub serve`.
SERVER_TLS: Any = option(
    None,
    metavar="FOLDER",
    help="Use TLS only, with the certificate in this folder (plink plan --certificates).",
)
METRICS: Any = option(
    None, metavar="HOST:PORT", help="Address at which to serve Prometheus metrics."
)


def with_request(
    request: type, *names: str, helps: Mapping[str, str] | None = None, passed_as: str = "request"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a request's options and passes a command the request.

    Args:
        request: class of the request.
        names: fields that the command has options for; none for all.
        helps: help texts that differ from the request's, by field.
        passed_as: the command's argument that receives the request.
    """
    options = list_options(request)
    spell = option_speller(
        {name: option.flag for name, option in options.items()},
        {name for name, option in options.items() if option.kind == "flag"},
    )
    chosen = {name: options[name] for name in names or options}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_values(**values: Any) -> Any:
            context = click.get_current_context()
            try:
                wanted = request(**{name: values.pop(name) for name in chosen})
                check_request(wanted, given_options(context))
            except WrongUseError as error:
                message, hint = error.spell(spell)
                raise WrongUseError(message, hint or f"{context.command_path} --help") from None
            context.meta.setdefault(REQUESTS, []).append(wanted)
            return command(**{passed_as: wanted}, **values)

        decorated: Callable[..., Any] = with_values
        for name, each in reversed(chosen.items()):
            text = spell_arguments((helps or {}).get(name, each.help), options, spell)
            decorated = _click_option(each, text)(decorated)
        return decorated

    return decorate


def _click_option(option: Option, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    add = make_section_option(option.section)
    names = [name for name in (option.short, option.flag, option.name) if name is not None]
    if option.kind == "flag":
        return add(*names, is_flag=True, help=text)
    default = {"required": True} if option.is_required else {"default": option.default}
    return add(
        *names,
        multiple=option.kind == "texts",
        type=_click_type(option),
        metavar=option.metavar,
        show_default=option.default not in (None, ()) and option.shows_default,
        help=text,
        **default,
    )


def _click_type(option: Option) -> Any:
    match option.kind:
        case "choice":
            return click.Choice(option.choices)
        case "whole":
            return click.IntRange(int(option.low or 0), int(option.high or 0))
        case "number":
            return FiniteRange(option.low, option.high, min_open=option.is_above_low)
        case "size":
            return SIZE
        case "rate":
            return RATE
    return click.STRING
