"""Function `replace`: copy a frozen dataclass or msgspec struct with some members changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    # Type checkers know the members of dataclasses and of structs from this one.
    from dataclasses import replace
else:
    import dataclasses

    from plink.base.lazy import lazy_imports

    with lazy_imports():
        import msgspec

    _Value = TypeVar("_Value")

    def replace(value: _Value, /, **members: Any) -> _Value:
        """Return a copy of a dataclass or a struct with some members changed."""
        if dataclasses.is_dataclass(value):
            return dataclasses.replace(value, **members)
        return msgspec.structs.replace(value, **members)


__all__ = ["replace"]
