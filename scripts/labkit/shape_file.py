"""A shape from a small TOML or JSON file: the way to have rows of racks.

    host_rate = "400mbit"
    uplink_rate = "400mbit"      # of a rack
    hops = 2
    row_uplink_rate = "800mbit"
    row_hops = 4
    routed = false               # whether all of them are routers

    [[rows]]
    racks = [4, 4]               # hosts in each

    [[rows]]
    racks = [3, 5, 8]
    uplink_rate = "200mbit"      # a row may differ in any of the above

Without rows, `racks` stands at the top. So does `regions` in place of it, with paths between them:

    regions = [2, 2, 2]          # hosts in each
    rtt_ms = 100
    wan_rate = "100mbit"         # of the path between every two
    loss = "0.01%"
    jitter_ms = 0.5

    [[paths]]
    between = [1, 3]             # a path may differ in any of the above
    wan_rate = "30mbit"
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.errors import LabError, WrongUseError
from labkit.rates import parse_rate
from labkit.shape import RackShape, RowShape, Shape, check_shape
from labkit.wan_file import wide_area

DEFAULTS = {
    "host_rate": "400mbit",
    "uplink_rate": "400mbit",
    "hops": 4,
    "row_uplink_rate": "400mbit",
    "row_hops": 4,
}
ROUTED = "routed"
MAX_FILE_BYTES = 1_000_000


def read_shape(path: Path) -> Shape:
    """Read a shape; a name that ends in `.json` is JSON, any other TOML.

    Raises:
        WrongUseError: the file is not there, not of that form, or cannot be built.
        LabError: this Python has no TOML reader.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES).decode()
        document = json.loads(text) if path.suffix == ".json" else _toml_reader().loads(text)
    except OSError as error:
        raise WrongUseError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise WrongUseError(f"{path} is not valid: {error}") from error
    try:
        return shape_of_document(document)
    except WrongUseError as error:
        raise WrongUseError(f"{path}: {error}", error.hint) from error


def shape_of_document(document: Any) -> Shape:
    """The shape that a parsed file describes.

    Raises:
        WrongUseError: a key that is not known, a value of the wrong kind or out of range.
    """
    if isinstance(document, dict) and "regions" in document:
        return wide_area(document)
    common = {**DEFAULTS, **_check_keys(document, {*DEFAULTS, ROUTED, "rows", "racks"}, "the file")}
    if ("rows" in common) == ("racks" in common):
        raise WrongUseError("give either rows or racks", "such as [[rows]] with racks = [4, 4]")
    routed = common.get(ROUTED, False)
    if not isinstance(routed, bool):
        raise WrongUseError(f"{ROUTED} must be true or false, not {routed!r}")
    if "racks" in common:
        return check_shape(Shape(tuple(_racks(common, None)), routed=routed))
    racks: list[RackShape] = []
    rows: list[RowShape] = []
    for row in _list(common["rows"], "rows"):
        own = {**common, "racks": [], **_check_keys(row, {*DEFAULTS, "racks"}, "a row")}
        racks += _racks(own, len(rows))
        rows.append(RowShape(_rate(own, "row_uplink_rate"), _count(own["row_hops"], "row_hops")))
    return check_shape(Shape(tuple(racks), tuple(rows), routed))


def _racks(fields: Mapping[str, Any], row: int | None) -> list[RackShape]:
    return [
        RackShape(
            hosts=_count(hosts, "racks"),
            host_rate_bits=_rate(fields, "host_rate"),
            uplink_rate_bits=_rate(fields, "uplink_rate"),
            hops=_count(fields["hops"], "hops"),
            row=row,
        )
        for hosts in _list(fields["racks"], "racks")
    ]


def _check_keys(fields: Any, keys: set[str], where: str) -> dict[str, Any]:
    if not isinstance(fields, dict):
        raise WrongUseError(f"{where} is not a table of keys and values")
    unknown = sorted(set(fields) - keys)
    if unknown:
        raise WrongUseError(
            f"{where} has no key {unknown[0]!r}", f"known: {', '.join(sorted(keys))}"
        )
    return fields


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise WrongUseError(f"{key} must be a list that is not empty")
    return value


def _count(value: Any, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongUseError(f"{key} must be a whole number, not {value!r}")
    return value


def _rate(fields: Mapping[str, Any], key: str) -> int | None:
    if not isinstance(fields[key], str):
        raise WrongUseError(f"{key} must be a rate in quotes, not {fields[key]!r}")
    return parse_rate(fields[key])


def _toml_reader() -> Any:
    # Python 3.10 has no reader of its own; the tomli package is the same one.
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise LabError(
            "this Python cannot read TOML", "pip install tomli, or use a .json file"
        ) from None
