"""click's options, made from the options of a verb's request."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click

from plink.base.errors import spell_arguments
from plink.base.request import Option, check_request, list_options
from plink.cli.options import FiniteRange, SizeType, given_options


def with_request(
    request: type, *names: str, helps: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds a request's options and passes a command the request.

    Args:
        request: class of the request, which the command receives as `request`.
        names: fields that the command has options for; none for all.
        helps: help texts that differ from the request's, by field.
    """
    options = list_options(request)
    chosen = {name: options[name] for name in names or options}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_values(**values: Any) -> Any:
            wanted = request(**{name: values.pop(name) for name in chosen})
            check_request(wanted, given_options(click.get_current_context()))
            return command(request=wanted, **values)

        decorated: Callable[..., Any] = with_values
        for name, option in reversed(chosen.items()):
            text = spell_arguments((helps or {}).get(name, option.help), options, _spell(options))
            decorated = _click_option(option, text)(decorated)
        return decorated

    return decorate


def _spell(options: Mapping[str, Option]) -> Callable[[str, str | None], str]:
    def spell(name: str, value: str | None) -> str:
        option = options[name]
        is_bare = value is None or option.kind == "flag"
        return option.flag if is_bare else f"{option.flag} {value}"

    return spell


def _click_option(option: Option, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if option.kind == "flag":
        return click.option(option.flag, option.name, is_flag=True, help=text)
    return click.option(
        option.flag,
        option.name,
        type=_click_type(option),
        metavar=option.metavar,
        default=option.default,
        show_default=option.default is not None and option.shows_default,
        help=text,
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
            return SizeType()
    return click.STRING
