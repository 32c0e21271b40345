"""Shared parts of the library's functions: result classes, warnings, errors and progress."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from plink.base.errors import PlinkError
from plink.base.lazy import lazy_imports
from plink.base.progress import OnProgress, Progress
from plink.base.text import MOST_NAMED, rtt_text, share_text
from plink.measure.errors import to_plink_error
from plink.probes.errors import ProbesError

with lazy_imports():
    from rich import console as rich_console

    from plink.measure.probing import request as probing_request

if TYPE_CHECKING:
    from plink.solvers.search import SearchProgress

PathName = str | os.PathLike[str]

_Object = TypeVar("_Object")

# Columns of what `print` shows.
_WIDTH = 100


class PlinkWarning(UserWarning):
    """Warning that a result lacks hosts or pairs, or is partly not to be trusted."""


def warn(text: str, stacklevel: int) -> None:
    """Issue a warning that points to the user's call of the library.

    Args:
        text: warning's text.
        stacklevel: frames from here to the user's.
    """
    warnings.warn(text, PlinkWarning, stacklevel=stacklevel)


def build_warner(list_texts: Callable[[_Object], Iterable[str]]) -> Callable[[_Object], None]:
    """Return a function that issues the warnings about a verb's result, for `keyword_function`.

    Args:
        list_texts: returns the warnings about a result.
    """

    def finish(result: _Object) -> None:
        for text in list_texts(result):
            warn(text, stacklevel=4)

    return finish


@contextmanager
def translate_errors() -> Iterator[None]:
    """Convert errors of the `probes` package in a block to `PlinkError`, naming unreached hosts."""
    try:
        yield
    except probing_request.TooFewReachedError as error:
        reasons = "; ".join(f"{failure.host}: {failure}" for failure in error.failures[:MOST_NAMED])
        raise PlinkError(f"{error}: {reasons}" if reasons else str(error), error.hint) from None
    except ProbesError as error:
        raise to_plink_error(error) from None


def copy_as(kind: type[_Object], found: Any, **more: Any) -> _Object:
    """Convert a struct read from a file to the library's subclass, which adds methods.

    Args:
        kind: struct or dataclass that inherits from that of `found`.
        found: instance whose members it takes.
        more: members that `kind` adds.
    """
    names = (
        found.__struct_fields__
        if isinstance(found, Struct)
        else [member.name for member in fields(found)]
    )
    return kind(**{name: getattr(found, name) for name in names}, **more)


def print_to_text(show: Callable[[rich_console.Console], None]) -> str:
    """Return the text that a function prints on a rich console, without colours."""
    text = StringIO()
    show(
        rich_console.Console(
            file=text, width=_WIDTH, color_system=None, highlight=False, markup=False, emoji=False
        )
    )
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))


class CallbackProgress:
    """Progress listener of a probe that calls the user's callback."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._tell = on_progress or (lambda _: None)
        self._now = Progress("")

    def stage(self, name: str, total: int) -> None:
        """Report that a stage of `total` steps begins."""
        self._now = Progress(name, 0, total)
        self._tell(self._now)

    def step(self) -> None:
        """Report that a step of the current stage is done."""
        self._now = Progress(self._now.stage, self._now.done + 1, self._now.total)
        self._tell(self._now)

    def say(self, text: str) -> None:
        """Report a message to the user."""
        self._tell(Progress(text))


def report_stages(on_progress: OnProgress | None) -> Callable[[str], None] | None:
    """Convert a user's progress callback to one that takes a stage's name; None if given None."""
    if on_progress is None:
        return None
    return lambda stage: on_progress(Progress(stage))


def report_search(
    on_progress: OnProgress | None, time_limit_s: float
) -> Callable[[SearchProgress], None] | None:
    """Convert a user's progress callback to one for searches (cost, gap); None if given None."""
    if on_progress is None:
        return None

    def tell(found: SearchProgress) -> None:
        gap = max(0.0, found.cost - found.lower_bound)
        proven = f", gap {share_text(gap / found.cost)}" if found.lower_bound and found.cost else ""
        on_progress(Progress(f"cost {rtt_text(found.cost)}{proven}", found.seconds, time_limit_s))

    return tell
