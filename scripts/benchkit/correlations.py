"""How well predictions ranked orders, as a row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEADER = (
    "client",
    "algorithm",
    "orders",
    "samples an order",
    "measured, s (least to most)",
    "predicted, s (least to most)",
    "Spearman by latency (95 %)",
    "Spearman by contention (95 %)",
)


def correlation_row(result: Mapping[str, Any]) -> tuple[str, ...]:
    """A row under `HEADER`, of the JSON of `plink bench --correlate`."""
    rows = result["rows"]
    return (
        result["client"],
        result["algorithm"],
        str(len(rows)),
        str(len(rows[0]["samples_s"])),
        _range([row["median_s"] for row in rows]),
        _range([row["predicted_s"] for row in rows]),
        _correlation(result["spearman"]["latency"]),
        _correlation(result["spearman"]["contention"]),
    )


def _range(values_s: list[float]) -> str:
    return f"{min(values_s):.3f} to {max(values_s):.3f}"


def _correlation(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "–"
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
