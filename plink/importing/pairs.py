"""Readings of pairs of hosts, gathered into a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S, BandwidthMeasurement
from plink.files.cluster import Cluster, Host
from plink.files.document import brief
from plink.files.fields import WORD, is_word
from plink.files.measurement import Matrix
from plink.files.rtt import MAX_RTT_US, RttMeasurement

# The matrices of as many hosts still fit in memory.
MAX_HOSTS = 4096

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,3})?")
_PREFIX = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?", re.MULTILINE)


@dataclass(frozen=True)
class PairReading:
    """What was measured from one host to another; None for what was not."""

    source: str
    destination: str
    rtt_us: float | None = None
    gbit_s: float | None = None


def cluster_of(
    readings: Iterable[PairReading],
    source: str,
    *,
    tool: str,
    percentile: float,
    notes: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> Cluster:
    """The hosts, as they first come, and what was measured between them.

    Of several readings of a pair the least time and the greatest bandwidth count.

    Args:
        readings: at least one.
        source: what errors call the file.
        tool: what measured them.
        percentile: what the times are taken for.
        notes: what a reader should know.
        hosts: those that come first, by name.

    Raises:
        WrongUseError: no readings, or too many hosts, or values that cannot be.
    """
    found = list(readings)
    measured = [name for pair in found for name in (pair.source, pair.destination)]
    names = list(dict.fromkeys([*hosts, *measured]))
    if not measured:
        raise WrongUseError(f"{source}: holds no measurement of a pair of hosts")
    if len(names) > MAX_HOSTS:
        raise WrongUseError(f"{source}: holds more than {MAX_HOSTS:,} hosts")
    index = {name: position for position, name in enumerate(names)}
    shape = (len(names), len(names))
    rtt_us, gbit_s = np.full(shape, np.nan), np.full(shape, np.nan)
    for pair in found:
        place = index[pair.source], index[pair.destination]
        if pair.rtt_us is not None:
            _check(pair.rtt_us, MAX_RTT_US, "µs", source)
            rtt_us[place] = np.fmin(rtt_us[place], pair.rtt_us)
        if pair.gbit_s is not None:
            _check(pair.gbit_s, MAX_GBIT_S, "Gbit/s", source)
            gbit_s[place] = np.fmax(gbit_s[place], pair.gbit_s)
    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in names],
        rtt=_rtt(rtt_us, tool, percentile, notes),
        bandwidth=_bandwidth(gbit_s, tool, notes),
    )


def checked_name(name: str, place: str) -> str:
    """A host's name.

    Raises:
        WrongUseError: it is none; `place` says where it stands.
    """
    if not is_word(name):
        raise WrongUseError(f"{place}: {brief(name)} is not {WORD}")
    return name


def number(text: str, place: str) -> float:
    """A plain number, not negative.

    Raises:
        WrongUseError: it is none; `place` says where it stands.
    """
    if not _NUMBER.fullmatch(text):
        raise WrongUseError(f"{place}: {brief(text)} is not a number")
    return float(text)


def text_of(content: bytes, source: str) -> str:
    """The text of a log, without what `mpirun --tag-output` puts in front of lines.

    Raises:
        WrongUseError: it is not text in UTF-8.
    """
    try:
        return _PREFIX.sub("", content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8") from None


def _check(value: float, high: float, unit: str, source: str) -> None:
    if not (math.isfinite(value) and 0.0 <= value <= high):
        raise WrongUseError(f"{source}: {value:g} {unit} is more than {high:g} {unit}")


def _rtt(
    rtt_us: Matrix, tool: str, percentile: float, notes: Sequence[str]
) -> RttMeasurement | None:
    measured = np.isfinite(rtt_us)
    if not measured.any():
        return None
    return RttMeasurement(
        rtt_us={percentile: rtt_us},
        reading=percentile,
        samples=measured.astype(np.int64),
        losses=np.zeros(rtt_us.shape, dtype=np.int64),
        tool=tool,
        notes=notes,
    )


def _bandwidth(gbit_s: Matrix, tool: str, notes: Sequence[str]) -> BandwidthMeasurement | None:
    if not np.isfinite(gbit_s).any():
        return None
    unknown = np.full(gbit_s.shape, np.nan)
    return BandwidthMeasurement(gbit_s=gbit_s, retransmits=unknown, tool=tool, notes=notes)
