"""Regions from a file or from options, and what the paths between them are like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from labkit.errors import WrongUseError
from labkit.rates import parse_rate
from labkit.shape import Shape, check_shape, regions
from labkit.wan import DEFAULT_RTT_MS, WanPath, parse_loss, wan_path

# What a file, or one of its paths, may say of paths; `wan_rate` is `--wan-rate` of the options.
FIGURES = ("rtt_ms", "jitter_ms", "loss", "wan_rate", "queue_kb")
KEYS = {"regions", "paths", "host_rate", "uplink_rate", *FIGURES}
_DEFAULT_HOST_RATE = "400mbit"


def wide_area(document: Mapping[str, Any]) -> Shape:
    """The shape that a parsed file with `regions` describes.

    Raises:
        WrongUseError: a key that is not known, a value of the wrong kind or out of range.
    """
    _refuse_unknown(document, KEYS, "the file")
    counts = document["regions"]
    if not isinstance(counts, list) or not all(type(count) is int for count in counts):
        raise WrongUseError("regions must be a list of whole numbers: the hosts in each")
    shape = regions(
        counts,
        _rate(document, "host_rate", _DEFAULT_HOST_RATE),
        _rate(document, "uplink_rate", "none"),
        **figures_of({"rtt_ms": DEFAULT_RTT_MS, **document}),
    )
    by_pair = {path.regions: path for path in shape.wan}
    for fields in document.get("paths", []):
        path = _own_path(fields, document, len(counts))
        by_pair[path.regions] = path
    return check_shape(replace(shape, wan=tuple(by_pair.values())))


def figures_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What `wan_path` takes, of the keys that say it.

    Raises:
        WrongUseError: a value of the wrong kind.
    """
    read: dict[str, Callable[[], Any]] = {
        "rtt_ms": lambda: _number(fields, "rtt_ms"),
        "jitter_ms": lambda: _number(fields, "jitter_ms"),
        "loss": lambda: parse_loss(str(fields["loss"])),
        "wan_rate": lambda: _rate(fields, "wan_rate", "none"),
        "queue_kb": lambda: round(_number(fields, "queue_kb") * 1024),
    }
    names = {"wan_rate": "rate_bits", "queue_kb": "queue_bytes"}
    return {names.get(key, key): read[key]() for key in FIGURES if fields.get(key) is not None}


def _own_path(fields: Any, common: Mapping[str, Any], regions_count: int) -> WanPath:
    if not isinstance(fields, dict):
        raise WrongUseError("a path is a table of keys and values")
    _refuse_unknown(fields, {"between", *FIGURES}, "a path")
    between = fields.get("between")
    if (
        not isinstance(between, list)
        or len(between) != 2
        or not all(type(each) is int and 1 <= each <= regions_count for each in between)
        or between[0] == between[1]
    ):
        raise WrongUseError(f"between must name two of {regions_count} regions, such as [1, 2]")
    one, other = sorted(each - 1 for each in between)
    return wan_path((one, other), **figures_of({"rtt_ms": DEFAULT_RTT_MS, **common, **fields}))


def _refuse_unknown(fields: Mapping[str, Any], keys: set[str], where: str) -> None:
    unknown = sorted(set(fields) - keys)
    if unknown:
        raise WrongUseError(
            f"{where} has no key {unknown[0]!r}", f"known: {', '.join(sorted(keys))}"
        )


def _number(fields: Mapping[str, Any], key: str) -> float:
    value = fields[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongUseError(f"{key} must be a number, not {value!r}")
    return float(value)


def _rate(fields: Mapping[str, Any], key: str, default: str) -> int | None:
    value = fields.get(key, default)
    if not isinstance(value, str):
        raise WrongUseError(f"{key} must be a rate in quotes, not {value!r}")
    return parse_rate(value)
