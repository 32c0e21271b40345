"""Settings of autotuning in the environment of a training process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plink.autotune.protocol.handshake import DEFAULT_JOB
from plink.autotune.protocol.messages import MOST_PAUSE_S
from plink.base.errors import WrongUseError
from plink.transport.addresses import parse_address
from plink.transport.proofs import is_name

ADDRESS_VARIABLE = "PLINK_AUTOTUNE"
JOB_VARIABLE = "PLINK_AUTOTUNE_JOB"
WINDOW_VARIABLE = "PLINK_AUTOTUNE_WINDOW"

_DEFAULT_WINDOW_S = 1.0
# A rank that goes on while another is paused must not give it up: a quarter of the group's timeout
# may pass until a rank is paused, and another quarter while it is.
_LEAST_TIMEOUT_S = 4.0 * MOST_PAUSE_S


@dataclass(frozen=True)
class Settings:
    """How a job is tuned, the same on all its ranks: those of rank 0 count.

    Args:
        host, port: of the daemon.
        job: its name there.
        window_s: seconds that a window of measurements lasts at least.
        may_pause: ranks pause where they are asked to.
    """

    host: str
    port: int
    job: str = DEFAULT_JOB
    window_s: float = _DEFAULT_WINDOW_S
    may_pause: bool = True

    def to_json(self) -> dict[str, Any]:
        """Encode the settings for the other ranks."""
        values = {**vars(self), "may_hold": self.may_pause}
        del values["may_pause"]
        return values

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Settings:
        """Parse the output of `to_json` from rank 0."""
        values = {**data, "may_pause": data["may_hold"]}
        del values["may_hold"]
        return Settings(**values)


def settings_of(environment: Mapping[str, str], timeout_s: float) -> Settings | None:
    """Return the settings; None where nothing is to be tuned.

    Args:
        environment: of the process.
        timeout_s: after which the group gives up on a rank.

    Raises:
        WrongUseError: a variable says what cannot be.
    """
    address = environment.get(ADDRESS_VARIABLE)
    if not address:
        return None
    host, port = parse_address(address, ADDRESS_VARIABLE)
    job = environment.get(JOB_VARIABLE) or DEFAULT_JOB
    if not is_name(job):
        raise WrongUseError(
            f"{JOB_VARIABLE} is {job!r}, expected letters, digits, '_', '.' and '-', at most 64"
        )
    window = environment.get(WINDOW_VARIABLE)
    may_pause = timeout_s >= _LEAST_TIMEOUT_S
    return Settings(host, port, job, _seconds(window), may_pause)


def _seconds(text: str | None) -> float:
    if text is None:
        return _DEFAULT_WINDOW_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 < seconds < 1e6:
        raise WrongUseError(f"{WINDOW_VARIABLE} is {text!r}, expected a number of seconds")
    return seconds
