"""What every measurement between the hosts of a cluster has, and which pairs it went through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plink.files.fields import Fields
from plink.files.json_parsing import finite_number

Matrix = npt.NDArray[np.float64]
# Whole numbers of any width: what was read is as wide as its largest number needs.
Counts = npt.NDArray[np.integer[Any]]

# As many as a host list may have.
MAX_HOSTS = 65_536

# A benchmark compared what arrived with what should have, and it differed.
WRONG_RESULTS = "wrong results"

_Number = TypeVar("_Number", bound=np.generic)
_MOST = 1 << 63


@dataclass(frozen=True)
class Failure:
    """Something that is missing from a measurement, and why.

    `destination` is None where a whole host failed; `kind` is `WRONG_RESULTS` or None.
    """

    source: str
    reason: str
    destination: str | None = None
    kind: str | None = None

    def __str__(self) -> str:
        ends = self.source + (f" to {self.destination}" if self.destination else "")
        return f"{ends}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """How and when something was measured.

    Args:
        tool: what measured it: `echo`, `fping`, `import`, ...
        options: the options it ran with, as JSON values.
        started: when, ISO 8601 in UTC; None where unknown.
        seconds: how long the probing itself took.
        failures: pairs and hosts that could not be measured.
        notes: what a reader should know before trusting the readings.
    """

    tool: str
    options: Mapping[str, Any] = field(default_factory=dict)
    started: str | None = None
    seconds: float = 0.0
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()


def parse_record(fields: Fields) -> dict[str, Any]:
    """The fields of `Measurement`, as its arguments.

    Raises:
        WrongUseError: one of them is wrong.
    """
    return {
        "tool": fields.text("tool"),
        "options": fields.settings("options"),
        "started": fields.optional_text("started"),
        "seconds": fields.number("seconds", low=0.0, high=1e9),
        "failures": [_parse_failure(item) for item in fields.objects("failures", optional=True)],
        "notes": fields.texts("notes"),
    }


def record_to_json(measurement: Measurement) -> dict[str, Any]:
    """The fields of `Measurement` as JSON members."""
    return {
        "tool": measurement.tool,
        "options": dict(measurement.options),
        **({"started": measurement.started} if measurement.started is not None else {}),
        "seconds": round(measurement.seconds, 3),
        "notes": list(measurement.notes),
        "failures": [without_nones(vars(failure)) for failure in measurement.failures],
    }


def without_nones(values: Mapping[str, Any]) -> dict[str, Any]:
    """The members that have a value."""
    return {key: value for key, value in values.items() if value is not None}


def replaced(
    matrix: npt.NDArray[_Number], places: Sequence[int | None], fill: float
) -> npt.NDArray[_Number]:
    """The (N, N) matrix for N other hosts.

    Args:
        matrix: of the hosts before.
        places: the index of each host before, None for a new one.
        fill: the value wherever a new host is concerned.
    """
    found = np.full((len(places), len(places)), fill, dtype=matrix.dtype)
    kept = [(to, of) for to, of in enumerate(places) if of is not None]
    if kept:
        to, of = (np.ix_(side, side) for side in zip(*kept, strict=True))
        found[to] = matrix[of]
    return found


def _parse_failure(fields: Fields) -> Failure:
    return Failure(
        source=fields.text("source"),
        reason=fields.text("reason"),
        destination=fields.optional_text("destination"),
        kind=fields.optional_text("kind"),
    )


@dataclass(frozen=True)
class RoundSample:
    """Some rounds of the tournament in place of all: the pairs of the others stay unmeasured.

    Args:
        rounds: how many were gone through.
        in_all: how many there are.
        seed: decides which.
    """

    rounds: int
    in_all: int
    seed: int

    def to_options(self) -> dict[str, int]:
        """What the options of a measurement record."""
        return {"rounds": self.rounds, "rounds_in_all": self.in_all, "seed": self.seed}

    def __str__(self) -> str:
        return f"{self.rounds:,} of {self.in_all:,} rounds"


@dataclass(frozen=True)
class FollowedSample:
    """Pairs that were chosen by what the readings before showed.

    Args:
        share: the share of all pairs to measure at most.
        seed: of the random choices.
    """

    share: float
    seed: int

    def to_options(self) -> dict[str, float | int]:
        """What the options of a measurement record."""
        return {"share": self.share, "seed": self.seed}

    def __str__(self) -> str:
        return f"pairs chosen from the readings, at most {100.0 * self.share:.3g} % of the pairs"


Sample = RoundSample | FollowedSample
# Every option that a sample records.
SAMPLE_OPTIONS = ("rounds", "rounds_in_all", "share", "seed")


def recorded_sample(options: Mapping[str, Any]) -> Sample | None:
    """The sample that options record; None where all rounds were gone through."""
    values = [options.get(name) for name in ("rounds", "rounds_in_all", "seed")]
    rounds, in_all, seed = (value if type(value) is int else -1 for value in values)
    share = finite_number(options.get("share"))
    if not 0 <= seed < _MOST:
        return None
    if share is not None and 0.0 < share <= 1.0:
        return FollowedSample(share, seed)
    return RoundSample(rounds, in_all, seed) if 1 <= rounds < in_all else None
