"""What the environment of a training process says of autotuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plink.autotune.protocol.handshake import is_job_name
from plink.autotune.protocol.messages import MOST_HOLD_S
from plink.autotune.ranks.agreement import DEFAULT_BYTES, DEFAULT_COLLECTIVES, Stride
from plink.base.errors import WrongUseError

ADDRESS_VARIABLE = "PLINK_AUTOTUNE"
JOB_VARIABLE = "PLINK_AUTOTUNE_JOB"
STRIDE_VARIABLE = "PLINK_AUTOTUNE_STRIDE"
WINDOW_VARIABLE = "PLINK_AUTOTUNE_WINDOW"

DEFAULT_JOB = "job"
_DEFAULT_WINDOW_S = 1.0
# A rank that goes on while another holds still must not take it for lost: of the group's timeout a
# quarter may pass until a rank is still, and another while it holds.
_LEAST_TIMEOUT_S = 4.0 * MOST_HOLD_S


@dataclass(frozen=True)
class Settings:
    """The same on all ranks of a job: rank 0's count.

    Args:
        host, port: of the daemon.
        job: its name there.
        stride: from point to point.
        window_s: a window of measurements is at least so long.
        may_hold: ranks hold still where they are asked to.
    """

    host: str
    port: int
    job: str = DEFAULT_JOB
    stride: Stride = field(default_factory=Stride)
    window_s: float = _DEFAULT_WINDOW_S
    may_hold: bool = True

    def to_json(self) -> dict[str, Any]:
        """For the other ranks."""
        return {**vars(self), "stride": vars(self.stride)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Settings:
        """What rank 0 made with `to_json`."""
        return Settings(**{**data, "stride": Stride(**data["stride"])})


def settings_of(environment: Mapping[str, str], timeout_s: float) -> Settings | None:
    """None where nothing is to be tuned.

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
    if not is_job_name(job):
        raise WrongUseError(
            f"{JOB_VARIABLE} is {job!r}, expected letters, digits, '_', '.' and '-', at most 64"
        )
    window = environment.get(WINDOW_VARIABLE)
    may_hold = timeout_s >= _LEAST_TIMEOUT_S
    return Settings(host, port, job, _stride(environment), _seconds(window), may_hold)


def parse_address(text: str, source: str) -> tuple[str, int]:
    """Host and port of `host:port`; a numeric IPv6 host may stand in brackets.

    Raises:
        WrongUseError: it is none.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16):
        raise WrongUseError(f"{source} is {text!r}, expected HOST:PORT")
    try:
        # As whoever looks it up will.
        host.encode("idna")
    except UnicodeError:
        raise WrongUseError(f"{source} is {text!r}, and {host!r} cannot be a host's name") from None
    return host, int(port)


def _stride(environment: Mapping[str, str]) -> Stride:
    text = environment.get(STRIDE_VARIABLE)
    if text is None:
        return Stride(DEFAULT_BYTES, DEFAULT_COLLECTIVES)
    size_bytes, colon, collectives = text.partition(":")
    if not colon or not size_bytes.isdecimal() or not collectives.isdecimal():
        raise WrongUseError(f"{STRIDE_VARIABLE} is {text!r}, expected BYTES:COLLECTIVES")
    return Stride(int(size_bytes), int(collectives))


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
