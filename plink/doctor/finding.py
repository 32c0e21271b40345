"""Finding of a diagnosis: what is wrong, where, evidence, certainty and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

# From these probabilities on a finding is called so. Below the last it is not told.
_WORDS = ((0.99, "certain"), (0.9, "very likely"), (0.7, "likely"))
LEAST_PROBABILITY = _WORDS[-1][0]


class FindingKind(Enum):
    """Kind of finding, with its name in output."""

    SLOW_HOST = "slow host"
    SLOW_ONE_WAY = "host slow one way"
    LOSS = "loss"
    BUSY = "busy processor"
    FAR_HOST = "longer way to a host"
    SLOW_PAIR = "slow pair"
    UPLINK_ONE_WAY = "uplink slow one way"
    HALF_DUPLEX = "half-duplex uplink"
    CONGESTED = "congested uplink"
    SLOW_UPLINK = "slower uplink"
    FARTHER = "longer way than before"
    MTU = "other MTU"
    CONGESTION_CONTROL = "other congestion control"
    NIC_SPEED = "NIC below its speed"
    CLOCK = "clock"
    OTHER_TRAFFIC = "other traffic"
    SLOWER_JOB = "slower job"
    WRONG_RESULTS = "wrong results"


@dataclass(frozen=True)
class Finding:
    """Cause of slowness that `plink doctor` found, with the evidence that it explains.

    Args:
        kind: kind of trouble.
        hosts: names: one, two for a pair, or all of a group.
        says: what is wrong, a clause that names the host, pair or group, numbers with units.
        probability: that this is no chance, 0 to 1 (`plink.doctor.certainty`).
        cost: how many times longer a transfer takes that needs what is slow, at least 1.
        advice: what to try, a clause each, the likeliest first.
        group: the group whose uplink it is; None where it is not about an uplink.
        evidence: further facts that it explains, a clause each.
    """

    kind: FindingKind
    hosts: Sequence[str]
    says: str
    probability: float
    cost: float
    advice: Sequence[str]
    group: str | None = None
    evidence: Sequence[str] = ()

    @property
    def certainty(self) -> str:
        """Probability in words."""
        return next(
            word for least, word in (*_WORDS, (0.0, "possible")) if self.probability >= least
        )

    @property
    def weight(self) -> float:
        """Expected cost, by which findings are ranked."""
        return self.probability * (self.cost - 1.0)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as `--json` prints it."""
        return {
            "kind": self.kind.value,
            "hosts": list(self.hosts),
            "group": self.group,
            "says": self.says,
            "probability": round(self.probability, 4),
            "certainty": self.certainty,
            "cost": round(self.cost, 3),
            "evidence": list(self.evidence),
            "advice": list(self.advice),
        }
