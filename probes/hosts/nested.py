"""Lookup of values in untrusted nested JSON. Pure."""

from __future__ import annotations

from typing import Any

from plink.probes.errors import HostListError, clean
from plink.probes.json_parsing import parse_json


def parse_listing_json(content: bytes, place: str, hint: str) -> Any:
    """Return the value in another program's JSON; `place` names it in errors.

    Raises:
        HostListError: it is not JSON as `plink.probes.json_parsing` takes it.
    """
    try:
        return parse_json(content)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else clean(str(error))
        raise HostListError(f"{place}: not valid JSON ({reason})", hint) from None


def at(value: Any, *path: str) -> Any:
    """Return the value at a path of nested objects; None if it does not exist."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def entries(value: Any) -> list[Any]:
    """Return the entries of a list; empty if the value is not a list."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; empty if the value is not a list."""
    return [entry for entry in entries(value) if isinstance(entry, dict)]
