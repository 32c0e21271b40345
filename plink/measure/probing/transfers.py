"""How a run's transfers are made, where the tool is one that transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.measure.probing.limits import DIRECTIONS, MAX_DURATION_S, MAX_STREAMS


@dataclass(frozen=True)
class TransferSettings:
    """What was asked for; None for what an earlier run recorded, or else the tool's default.

    Args:
        duration_s: whole seconds a transfer.
        streams: TCP connections a transfer.
        direction: `each` direction of a pair by itself, or `both` at once.
        congestion: the senders' congestion control.
    """

    duration_s: int | None = None
    streams: int | None = None
    direction: str | None = None
    congestion: str | None = None

    def given(self) -> dict[str, Any]:
        """What is known, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def going_on(self, recorded: Mapping[str, Any], source: str) -> TransferSettings:
        """The settings for more readings beside those that were made with `recorded` ones.

        Raises:
            WrongUseError: others are asked for, so that the readings would not compare, or what
                the file `source` records cannot be.
        """
        before = _recorded(recorded, source)
        for name in ("streams", "direction", "congestion"):
            asked, known = getattr(self, name), getattr(before, name)
            if asked is not None and asked != known:
                how = f"without --{name}" if known is None else f"with --{name} {known}"
                raise WrongUseError(
                    f"{source}: was measured {how}, not {asked}",
                    f"leave out --{name}, or measure anew into another file",
                )
        return TransferSettings(
            self.duration_s or before.duration_s,
            before.streams,
            before.direction,
            before.congestion,
        )


def _recorded(options: Mapping[str, Any], source: str) -> TransferSettings:
    duration_s, streams, direction, congestion = map(
        options.get, ("duration_s", "streams", "direction", "congestion")
    )
    for name, value, high in (
        ("duration_s", duration_s, MAX_DURATION_S),
        ("streams", streams, MAX_STREAMS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= high:
            raise WrongUseError(f"{source}: options.{name} is no whole number from 1 to {high}")
    if direction is not None and direction not in DIRECTIONS:
        raise WrongUseError(f"{source}: options.direction is none of {', '.join(DIRECTIONS)}")
    if congestion is not None and not (isinstance(congestion, str) and congestion.isalnum()):
        raise WrongUseError(f"{source}: options.congestion is no name")
    return TransferSettings(duration_s, streams, direction, congestion)
