"""Requests of plink's commands (verbs): dataclasses of their options, checks and keywords.

Each field that a user may set is an `option`: its flag, help, limits and the options that it
excludes or needs. The command line makes its options from them (`plink.cli.request_options`), and
the library its functions' keywords, documentation and checks (`keyword_function`).
"""

from __future__ import annotations

import functools
import math
import re
import sys
import typing
from collections.abc import Callable, Collection, Container, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from inspect import Parameter, Signature, signature
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from plink.base.arguments import (
    check_choice,
    check_flag,
    check_instance,
    check_real,
    check_texts,
    check_whole,
    parse_size_argument,
)
from plink.base.errors import WrongUseError, spell_arguments, spell_keyword
from plink.base.replacing import replace
from plink.base.text import join_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Concatenate

    from typing_extensions import ParamSpec

    Keywords = ParamSpec("Keywords")

Subject = TypeVar("Subject")
Request = TypeVar("Request")
Result = TypeVar("Result")

Kind = Literal["flag", "choice", "whole", "number", "text", "texts", "size", "rate", "parsed"]

# Heading of options in the help that belong to no other section.
GENERAL = "Options"

# Columns of the library's documentation.
_WIDTH = 100
# Its description and those of further arguments, in the docstring of a verb.
_REQUEST = re.compile(r"        request: .*\n(        .*\n)*")
# Members of a request that are not options, in its docstring.
_ATTRIBUTES = re.compile(r"(?<=    Attributes:\n)(?:        .*\n)+")
# A request's constructor in the message of a TypeError.
_CONSTRUCTOR = re.compile(r"^\S*__init__\(\)")
_KEY = "plink.option"
# Where the context of a command holds the requests of the verb that runs.
REQUESTS = "plink.requests"
_KINDS: Mapping[Any, Kind] = {bool: "flag", int: "whole", float: "number", str: "text"}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Option:
    """Option of a command: names in Python and on the command line, help, kind and allowed values.

    Attributes:
        name: name of the request's field, which is the library's keyword.
        flag: how the command line spells it, such as `--time-limit`.
        help: help text of the command line and of the library, with marks for other options
            (`plink.base.errors.spell_arguments`).
        kind: kind of its values; `size` is a size in bytes such as `25MB`, `rate` a rate in bit/s
            such as `10gbit`, `texts` one text or several, for which the command line repeats the
            option, `parsed` a text on the command line and whatever the request's own checks allow
            in the library.
        default: value where the user gives none.
        choices: allowed values of a `choice`.
        low, high: limits of a `whole` or a `number`, both allowed.
        is_above_low: whether `low` itself is not allowed.
        metavar: what the help shows in place of a value.
        shows_default: whether the help shows the default.
        section: heading above the option in the command line's help.
        short: second spelling of one letter, such as `-F`.
        is_required: whether the command line has no default.
        excludes: options that cannot be given beside it, each with a hint or None.
        needs: option that must be given beside it, or several of which one must be, and an
            example of the first one's value.
    """

    name: str
    flag: str
    help: str
    kind: Kind
    default: Any
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    is_above_low: bool = False
    metavar: str | None = None
    shows_default: bool = True
    section: str = GENERAL
    short: str | None = None
    is_required: bool = False
    excludes: Mapping[str, str | None] = field(default_factory=dict)
    needs: tuple[str | tuple[str, ...], str] | None = None

    def check(self, value: object) -> None:
        """Raise WrongUseError if a value is not allowed; None is allowed only as the default."""
        if value is None and self.default is None:
            return
        if self.kind == "flag":
            check_flag(self.name, value)
        elif self.kind == "choice":
            check_choice(self.name, value, self.choices)
        elif self.kind == "whole":
            check_whole(self.name, value, int(self.low or 0), int(self.high or 0))
        elif self.kind == "number":
            low, high = self.low or 0.0, math.inf if self.high is None else self.high
            check_real(self.name, value, low, high)
            if self.is_above_low and value == low:
                raise WrongUseError(f"{self.name} is {low:g}, expected a number above {low:g}")
        elif self.kind == "size":
            parse_size_argument(value)
        elif self.kind == "text":
            check_instance(self.name, value, str, "a text")
        elif self.kind == "texts":
            check_texts(self.name, value)


def option(default: Any, flag: str | None = None, **settings: Any) -> Any:
    """Return a dataclass field with the default, help and limits of a command's option.

    Args:
        default: the field's default.
        flag: the command line's spelling; None for the field's name with dashes.
        settings: other attributes of `Option`. `kind` and `choices` come from the field's type
            where they are left out.
    """
    return field(default=default, metadata={_KEY: {"flag": flag, **settings}})


@functools.cache
def list_options(request: type) -> Mapping[str, Option]:
    """Return a request class's options by field name."""
    given = {item.name: item for item in fields(request) if _KEY in item.metadata}
    found = {}
    for name, item in given.items():
        settings = dict(item.metadata[_KEY])
        if "kind" not in settings:
            kind, choices = _resolve_kind(str(item.type), request)
            settings = {"kind": kind, "choices": choices, **settings}
        settings["flag"] = settings["flag"] or f"--{name.replace('_', '-')}"
        found[name] = Option(name=name, default=item.default, **settings)
    return found


def _resolve_kind(annotation: str, request: type) -> tuple[Kind, tuple[str, ...]]:
    """Return an option's kind of value and its choices, from the field's type annotation."""
    holder = type("", (), {"__annotations__": {"value": annotation}})
    hint = typing.get_type_hints(holder, vars(sys.modules[request.__module__]))["value"]
    parts = get_args(hint) if _is_union(hint) else (hint,)
    (kind,) = (part for part in parts if part is not type(None))
    if get_origin(kind) is Literal:
        return "choice", get_args(kind)
    return _KINDS[kind], ()


def _is_union(hint: Any) -> bool:
    return get_origin(hint) is Union or type(hint).__name__ == "UnionType"


def given_names(request: Any) -> list[str]:
    """Return the names of the options whose values in a request differ from their defaults."""
    kind: type = type(request)
    options = list_options(kind)
    return [name for name in options if getattr(request, name) != options[name].default]


def command_words(request: Any, names: Container[str] | None = None) -> list[str]:
    """Return a request's options that differ from their defaults, as words of a command line.

    Args:
        request: instance of a request class.
        names: options to return; None for all.
    """
    kind: type = type(request)
    options, words = list_options(kind), []
    for name in given_names(request):
        if names is None or name in names:
            option, value = options[name], getattr(request, name)
            flag = option.short or option.flag
            values = [] if option.kind == "flag" else [value]
            words += [flag] * (not values)
            for each in value if option.kind == "texts" else values:
                words += [flag, str(each)]
    return words


def check_request(request: Any, given: Collection[str] | None = None) -> None:
    """Raise WrongUseError for a request's wrong values, or options that exclude or miss others.

    A request that has more to check than its options can say has a method `validate`.

    Args:
        request: instance of a request class.
        given: names of the options that the user gave; None for those that differ from their
            defaults.
    """
    kind: type = type(request)
    options = list_options(kind)
    values = {name: getattr(request, name) for name in options}
    for name, value in values.items():
        options[name].check(value)
    if given is None:
        given = given_names(request)
    for name in given:
        chosen = options.get(name)
        if chosen is None:
            continue
        for other, hint in chosen.excludes.items():
            if other in given:
                raise WrongUseError(
                    f"{{{other}}} and {{{name}}} exclude each other", hint, arguments=values
                )
        needed, example = chosen.needs or ((), "")
        names = (needed,) if isinstance(needed, str) else needed
        if names and not any(each in given for each in names):
            marks = join_texts([f"{{{each}}}" for each in names], "or")
            raise WrongUseError(
                f"{{{name}}} needs {marks}", f"{{{names[0]}={example}}}", arguments=values
            )
    validate: Callable[[], None] = getattr(request, "validate", lambda: None)
    validate()


def keyword_function(
    name: str,
    run: Callable[[Subject, Request], Result],
    request: Callable[Keywords, Request],
    finish: Callable[[Result], None] = lambda _: None,
    within: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[Concatenate[Subject, Keywords], Result]:
    """Build the library's function for a command (verb), with its request's fields as keywords.

    Args:
        name: function's name.
        run: the verb: takes the cluster or file that it is about, and the request.
        request: the request's class.
        finish: called with the result before it is returned, for warnings.
        within: makes the context in which the verb runs, for translating its errors.
    """
    options = list_options(request)
    whole_names = [name for name, option in options.items() if option.kind == "whole"]

    @functools.wraps(run)
    def function(
        subject: Subject, /, *arguments: Keywords.args, **keywords: Keywords.kwargs
    ) -> Result:
        try:
            chosen: Any = request(*arguments, **keywords)
        except TypeError as error:
            raise TypeError(_CONSTRUCTOR.sub(f"{name}()", str(error))) from None
        check_request(chosen)
        # Algorithms take neither 2.0 nor NumPy's integers for a number of things.
        given = {name: getattr(chosen, name) for name in whole_names}
        chosen = replace(chosen, **{k: int(v) for k, v in given.items() if v is not None})
        with within():
            result = run(subject, chosen)
        finish(result)
        return result

    function.__name__ = function.__qualname__ = name
    first = next(iter(signature(run).parameters.values()))
    first = first.replace(kind=Parameter.POSITIONAL_ONLY)
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [first, *signature(request).parameters.values()]
    )
    described = "".join(
        f"{_fold(f'{name}: {spell_arguments(each.help, options, spell_keyword)}')}\n"
        for name, each in options.items()
    )
    described += "".join(_ATTRIBUTES.findall(request.__doc__ or ""))
    function.__doc__ = _REQUEST.sub(lambda _: described, run.__doc__ or "", count=1)
    return function


def _fold(text: str) -> str:
    """Wrap an argument's description into lines of a docstring."""
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > _WIDTH - 13:
            lines.append("")
        lines[-1] += f"{word} "
    return "        " + "\n            ".join(line.rstrip() for line in lines)
