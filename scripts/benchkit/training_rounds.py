"""What was measured of a network's training: kept in a file, to go on with, and told in a table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ITEM_BYTES = 4
GIVEN, ORDERED, PLINK = "Gloo as given", "Gloo in plink's order", "plink"
VARIANTS = (GIVEN, ORDERED, PLINK)

HEADER = (
    "network",
    "gradient, MB (tensors, buckets)",
    "over",
    "iteration, s (least, median, most)",
    "rounds",
    "iterations a second",
    f"{GIVEN} / this",
    f"{ORDERED} / this",
    "of the limit",
    "between racks, MB",
    "cores busy",
)


@dataclass(frozen=True)
class Trained:
    """One way's figures, an iteration: seconds, CPU seconds of all ranks, bytes between racks."""

    seconds: float
    cpu_s: float
    crossing_bytes: float


Round = Mapping[str, Trained]


@dataclass
class Rounds:
    """A network's rounds; in each, every variant once.

    Args:
        network: its name.
        path: where they are kept; None to keep none.
        rounds: by variant what was measured.
    """

    network: str
    path: Path | None = None
    rounds: list[Round] = field(default_factory=list)

    def add(self, measured: Round) -> None:
        """One more, in the file too."""
        self.rounds.append(measured)
        if self.path is not None:
            rounds = [{name: asdict(one) for name, one in each.items()} for each in self.rounds]
            _write(self.path, rounds)


def kept_rounds(network: str, folder: Path | None) -> Rounds:
    """A network's rounds, with what the folder has of them."""
    if folder is None:
        return Rounds(network)
    path = folder / f"{network}.json"
    if not path.exists():
        return Rounds(network, path)
    kept = json.loads(path.read_text())
    return Rounds(
        network,
        path,
        [{name: Trained(**one) for name, one in each.items()} for each in kept],
    )


def hold_to(folder: Path, settings: Mapping[str, Any]) -> None:
    """Let a folder be one of these settings.

    Raises:
        SystemExit: it is one of others.
    """
    path = folder / "settings.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write(path, settings)
    elif (kept := json.loads(path.read_text())) != settings:
        other = [name for name in settings if kept.get(name) != settings[name]]
        raise SystemExit(
            f"{folder} has rounds of another --{', --'.join(other).replace('_', '-')}: "
            "give another folder to --keep"
        )


def _write(path: Path, content: object) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1))
    beside.replace(path)


def table_rows(
    measured: Rounds, tensors: int, bucket_items: Sequence[int], least_s: float
) -> list[tuple[str, ...]]:
    """Rows under `HEADER`, one a variant.

    Args:
        measured: at least one round.
        tensors: of the network.
        bucket_items: numbers in every bucket.
        least_s: no iteration takes less.
    """
    by_name = {name: [each[name] for each in measured.rounds] for name in VARIANTS}
    median_s = {
        name: statistics.median(one.seconds for one in many) for name, many in by_name.items()
    }
    gradient_mb = sum(bucket_items) * ITEM_BYTES / 1e6
    rows: list[tuple[str, ...]] = []
    for name, many in by_name.items():
        seconds = [one.seconds for one in many]
        crossing_bytes = statistics.median(one.crossing_bytes for one in many)
        rows.append(
            (
                measured.network,
                f"{gradient_mb:.1f} ({tensors}, {len(bucket_items)})",
                name,
                f"{min(seconds):.3f} / {median_s[name]:.3f} / {max(seconds):.3f}",
                str(len(seconds)),
                f"{1 / median_s[name]:.3f}",
                f"{median_s[GIVEN] / median_s[name]:.2f}",
                f"{median_s[ORDERED] / median_s[name]:.2f}",
                f"{least_s / median_s[name]:.0%}",
                f"{crossing_bytes / 1e6:.1f}",
                f"{statistics.median(one.cpu_s / one.seconds for one in many):.2f}",
            )
        )
    return rows
