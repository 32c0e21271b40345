"""Bandwidth between the hosts of a cluster file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plink.files.fields import Fields
from plink.files.measurement import (
    Matrix,
    Measurement,
    parse_record,
    record_to_json,
    replaced,
)

MAX_GBIT_S = 1e6
_MAX_RETRANSMITS = 1e15
_MAX_MESSAGE_BYTES = 1e18


@dataclass(frozen=True)
class BandwidthMeasurement(Measurement):
    """What every ordered pair could transfer, as measured, [source][destination].

    Args:
        gbit_s: (N, N) what the destination received, in Gbit/s; NaN where not measured.
        retransmits: (N, N) TCP segments sent again; NaN where unknown.
        message_bytes: (N, N) the size of the messages that reached it, NaN where unknown; None
            where the tool sends no messages.
    """

    gbit_s: Matrix
    retransmits: Matrix
    message_bytes: Matrix | None = None

    def for_hosts(self, places: Sequence[int | None]) -> BandwidthMeasurement:
        """The same for other hosts; `places` has the index of each here, None for a new one."""
        return replace(
            self,
            gbit_s=replaced(self.gbit_s, places, np.nan),
            retransmits=replaced(self.retransmits, places, np.nan),
            message_bytes=None
            if self.message_bytes is None
            else replaced(self.message_bytes, places, np.nan),
        )


def to_data(bandwidth: BandwidthMeasurement) -> dict[str, Any]:
    """`bandwidth` as a JSON object whose matrices are arrays."""
    sizes = bandwidth.message_bytes
    return {
        **record_to_json(bandwidth),
        "gbit_s": bandwidth.gbit_s,
        "retransmits": bandwidth.retransmits,
        **({} if sizes is None else {"message_bytes": sizes}),
    }


def parse(fields: Fields, size: int) -> BandwidthMeasurement:
    """The bandwidth between `size` hosts.

    Raises:
        WrongUseError: invalid values.
    """
    return BandwidthMeasurement(
        gbit_s=fields.matrix("gbit_s", size, high=MAX_GBIT_S),
        retransmits=fields.matrix("retransmits", size, high=_MAX_RETRANSMITS),
        message_bytes=fields.matrix("message_bytes", size, high=_MAX_MESSAGE_BYTES)
        if fields.values.get("message_bytes") is not None
        else None,
        **parse_record(fields),
    )
