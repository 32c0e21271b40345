"""What the objects of the library have in common: what they are made from, and how they print."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

PathName = str | os.PathLike[str]

_Object = TypeVar("_Object")

# Columns of what `print` shows.
_WIDTH = 100


def upgraded(kind: type[_Object], found: Any, **more: Any) -> _Object:
    """What a file holds, as the kind of the library that adds to it.

    Args:
        kind: a dataclass that inherits from that of `found`.
        found: the instance whose fields it takes.
        more: the fields that `kind` adds.
    """
    return kind(**{item.name: getattr(found, item.name) for item in fields(found)}, **more)


def page(show: Callable[[Console], None]) -> str:
    """What `show` prints on a console, as plain text."""
    from rich.console import Console  # noqa: PLC0415  who prints nothing does without

    text = StringIO()
    show(
        Console(
            file=text, width=_WIDTH, color_system=None, highlight=False, markup=False, emoji=False
        )
    )
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))
