"""Helpers of the library's result classes: conversion from file structs, printing as text."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from plink.base.lazy import lazy_imports

with lazy_imports():
    from rich import console as rich_console

if TYPE_CHECKING:
    pass

PathName = str | os.PathLike[str]

_Object = TypeVar("_Object")

# Columns of what `print` shows.
_WIDTH = 100


def copy_as(kind: type[_Object], found: Any, **more: Any) -> _Object:
    """Convert a file's struct to the library's class, which adds methods to it.

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


def page(show: Callable[[rich_console.Console], None]) -> str:
    """Return as plain text what a function prints on a console."""
    text = StringIO()
    show(
        rich_console.Console(
            file=text, width=_WIDTH, color_system=None, highlight=False, markup=False, emoji=False
        )
    )
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))
