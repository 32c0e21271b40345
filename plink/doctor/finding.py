"""Finding of a diagnosis: what is wrong, where, evidence, certainty and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, ClassVar

from msgspec import Meta

from plink.formats.limits import Share, Text
from plink.formats.structs import Output

# From these probabilities on a finding is called so. Below the last it is not told.
_WORDS = ((0.99, "certain"), (0.9, "very likely"), (0.7, "likely"))
LEAST_PROBABILITY = _WORDS[-1][0]


class FindingKind(Enum):
    """Kind of finding, such as a slow host, by its name in the output."""

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


class Finding(Output, frozen=True):
    """Cause of slowness that `plink doctor` found, with the evidence that it explains.

    Attributes:
        kind: kind of trouble
        hosts: names of the hosts: one, two for a pair, or all of a group
        says: what is wrong, a clause that names the host, pair or group, numbers with units
        probability: probability that this is no chance, 0 to 1 (`plink.doctor.certainty`)
        cost: factor by which a transfer takes longer that needs what is slow
        advice: what to try, a clause each, the likeliest first
        group: group whose uplink it is; null if it is not about an uplink
        evidence: further facts that it explains, a clause each
    """

    COMPUTED: ClassVar = ("certainty",)

    kind: FindingKind
    hosts: Sequence[str]
    says: Text
    probability: Share
    cost: Annotated[float, Meta(ge=1)]
    advice: Sequence[str]
    group: Text | None = None
    evidence: Sequence[str] = ()

    @property
    def certainty(self) -> Text:
        """Probability of the finding as a word, such as `very likely`."""
        return next(
            word for least, word in (*_WORDS, (0.0, "possible")) if self.probability >= least
        )

    @property
    def weight(self) -> float:
        """Expected slowdown, probability times (cost - 1), by which findings are ranked."""
        return self.probability * (self.cost - 1.0)


class DoctorOutput(Output, frozen=True):
    """Diagnosis of a cluster or a job: the findings, and the inputs they are based on.

    Attributes:
        findings: findings, the weightiest first
        looked_at: inputs that were there, with their dates
        not_looked_at: inputs that were missing
        not_asked: hosts that could not be asked, and why
    """

    findings: Sequence[Finding]
    looked_at: Sequence[str]
    not_looked_at: Sequence[str]
    not_asked: Sequence[str]
