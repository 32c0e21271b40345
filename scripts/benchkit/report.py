"""What a benchmark prints: tables as `docs/benchmarks.md` has them, then its targets."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True)
class Target:
    """A figure that was asked for, and the one reached.

    Args:
        name: what it is a figure of.
        asked: the limit.
        reached: not a number where nothing was measured, which misses.
        unit: of both.
        direction: on which side of the limit figures have to be.
    """

    name: str
    asked: float
    reached: float
    unit: str
    direction: Literal["at least", "at most"]

    @property
    def is_reached(self) -> bool:
        """Whether the figure is at the limit or on the right side of it."""
        if self.direction == "at least":
            return self.reached >= self.asked
        return self.reached <= self.asked

    def row(self) -> tuple[str, ...]:
        """A row of the table of targets."""
        unit = f" {self.unit}" if self.unit else ""
        outcome = "reached" if self.is_reached else "**missed**"
        asked = f"{self.direction} {self.asked:g}{unit}"
        return (self.name, asked, f"{self.reached:.4g}{unit}", outcome)


class Report:
    """Prints tables as their rows come, and keeps all for `--json`.

    Args:
        measured: what a benchmark has beside its tables, for `--json`.
        targets: figures that were asked for.
    """

    def __init__(self) -> None:
        self.measured: Any = None
        self._tables: list[dict[str, Any]] = []
        self.targets: list[Target] = []

    def table(
        self, header: Sequence[str], rows: Iterable[Sequence[object]], title: str = ""
    ) -> None:
        """Print a Markdown table, and the blank line without which the next would be its rows."""
        if title:
            print(f"### {title}\n")
        kept: list[list[str]] = []
        self._tables.append({"title": title, "header": list(header), "rows": kept})
        print(_line(header))
        print("|" + "---|" * len(header), flush=True)
        for row in rows:
            kept.append([str(cell) for cell in row])
            print(_line(kept[-1]), flush=True)
        print(flush=True)

    def say(self, text: str) -> None:
        """Print a paragraph."""
        print(f"{text}\n", flush=True)

    def at_least(self, name: str, asked: float, reached: float, unit: str = "") -> None:
        """A figure that was to be so large."""
        self.targets.append(Target(name, asked, float(reached), unit, "at least"))

    def at_most(self, name: str, asked: float, reached: float, unit: str = "") -> None:
        """A figure that was to be so small."""
        self.targets.append(Target(name, asked, float(reached), unit, "at most"))

    def conclude(self, changed: Sequence[str]) -> None:
        """Print what was asked, reached and missed.

        Args:
            changed: options with other values than the defaults, for which targets were set.
        """
        if not self.targets:
            print("no targets are set for what was measured")
            return
        self.table(("target", "asked", "reached", ""), [one.row() for one in self.targets])
        missed = sum(not one.is_reached for one in self.targets)
        print(f"{len(self.targets) - missed} of {len(self.targets)} targets reached")
        if changed:
            print(f"targets are set for the default arguments; changed: {', '.join(changed)}")

    def write(self, path: Path, name: str, arguments: Mapping[str, Any]) -> None:
        """Write tables, targets and what else was measured as JSON."""
        targets = [{**asdict(one), "is_reached": one.is_reached} for one in self.targets]
        document = {
            "benchmark": name,
            "arguments": arguments,
            "tables": self._tables,
            "targets": targets,
            "measured": self.measured,
        }
        path.write_text(json.dumps(document, indent=1, default=str) + "\n")


def spread(values: Sequence[float], digits: int = 3) -> str:
    """The least, the median and the greatest."""
    figures = (min(values), statistics.median(values), max(values))
    return " / ".join(f"{value:.{digits}f}" for value in figures)


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
