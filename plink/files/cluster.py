"""The cluster file: hosts, and what was measured between them (`docs/design.md`, Files)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.errors import WrongUseError
from plink.files import document
from plink.files.fields import Fields

FORMAT = "plink.cluster"
VERSION = 1

Matrix = npt.NDArray[np.float64]

MAX_RTT_US = 60e6


@dataclass(frozen=True)
class Host:
    """A machine: its name, the address that traffic uses, how SSH reaches it, its slots (ranks)."""

    name: str
    address: str
    ssh_address: str | None = None
    user: str | None = None
    port: int | None = None
    slots: int = 1


@dataclass(frozen=True)
class Failure:
    """Something that is missing from a measurement, and why.

    `destination` is None where a whole host failed.
    """

    source: str
    reason: str
    destination: str | None = None


@dataclass(frozen=True)
class Unreachable(Failure):
    """A listed host that was never reached, as it was listed, so that a later run can try again.

    `position` is its index in the host list, None where unknown.
    """

    user: str | None = None
    port: int | None = None
    slots: int = 1
    position: int | None = None


@dataclass(frozen=True)
class RttMeasurement:
    """Round-trip times of every ordered pair, as measured, [source][destination].

    Args:
        rtt_us: percentile (10.0, ...) to an (N, N) matrix in µs; NaN where not measured.
        reading: the percentile that stands for a pair (Luo 2020, §5.2.2: the 10th).
        samples: (N, N) echoes received.
        losses: (N, N) probes that came back too late or never.
        tool: what measured it: `echo`, `fping`, `import`, ...
        options: the options it ran with, as JSON values.
        started: when, ISO 8601 in UTC; None where unknown.
        seconds: how long the probing itself took.
        failures: pairs and hosts that could not be measured.
        notes: what a reader should know before trusting the readings.
    """

    rtt_us: Mapping[float, Matrix]
    reading: float
    samples: npt.NDArray[np.int64]
    losses: npt.NDArray[np.int64]
    tool: str
    options: Mapping[str, Any] = field(default_factory=dict)
    started: str | None = None
    seconds: float = 0.0
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()

    @property
    def readings_us(self) -> Matrix:
        """The (N, N) matrix in µs of the percentile that stands for a pair."""
        return self.rtt_us[self.reading]


@dataclass(frozen=True)
class Cluster:
    """Hosts and measurements. `unreachable` names listed hosts that are not among `hosts`."""

    hosts: Sequence[Host]
    rtt: RttMeasurement | None = None
    unreachable: Sequence[Unreachable] = ()
    made_from: str | None = None

    @property
    def names(self) -> list[str]:
        """The hosts' names, in file order: row and column i of every matrix is host i."""
        return [host.name for host in self.hosts]


def percentile_name(percentile: float) -> str:
    """What files and messages call a percentile: `p10`, `p99.9`."""
    return f"p{percentile:g}"


def measured_rtt(cluster: Cluster, source: str) -> RttMeasurement:
    """The cluster's round-trip times.

    Raises:
        WrongUseError: it holds none; `source` names the file.
    """
    if cluster.rtt is None:
        raise nothing_measured(source)
    return cluster.rtt


def nothing_measured(source: str) -> WrongUseError:
    """The error that says that a cluster file, `source`, holds hosts only."""
    return WrongUseError(
        f"{source}: holds no round-trip times",
        "plink probe measures them, plink import takes them from a matrix",
    )


def readings_at(rtt: RttMeasurement, percentile: float | None, source: str) -> tuple[float, Matrix]:
    """The percentile asked for, or else the one that stands for a pair, and its matrix in µs.

    Raises:
        WrongUseError: the measurement does not hold it; `source` names the file.
    """
    chosen = rtt.reading if percentile is None else percentile
    if chosen not in rtt.rtt_us:
        held = ", ".join(percentile_name(known) for known in sorted(rtt.rtt_us))
        raise WrongUseError(
            f"{source}: holds no {percentile_name(chosen)}", f"choose a --percentile of {held}"
        )
    return chosen, rtt.rtt_us[chosen]


def read(path: str) -> tuple[Cluster, str]:
    """A cluster file and the hash of its content.

    Raises:
        WrongUseError: not a cluster file, or one with values that cannot be.
    """
    content = document.read_bytes(path)
    return parse(content, document.label(path)), document.digest(content)


def write(path: str, cluster: Cluster) -> None:
    """Write a cluster file, whole or not at all."""
    document.write_bytes(path, document.dump(to_json(cluster)))


def parse(content: bytes, source: str) -> Cluster:
    """The cluster in the JSON text `content`; `source` names it in errors."""
    return from_json(document.parse(content, source), source)


def from_json(data: Mapping[str, Any], source: str) -> Cluster:
    """The cluster that a JSON object stands for; `source` names it in errors."""
    document.check_format(data, source, FORMAT, VERSION)
    fields = Fields(data, source)
    hosts = parse_hosts(fields)
    rtt = fields.optional_object("rtt")
    return Cluster(
        hosts=hosts,
        rtt=None if rtt is None else _parse_rtt(rtt, len(hosts)),
        unreachable=[
            _parse_unreachable(item) for item in fields.objects("unreachable", optional=True)
        ],
        made_from=fields.optional_text("made_from"),
    )


def to_json(cluster: Cluster) -> dict[str, Any]:
    """The JSON object that stands for `cluster`."""
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if cluster.made_from is not None:
        data["made_from"] = cluster.made_from
    data["hosts"] = hosts_to_json(cluster.hosts)
    data["unreachable"] = [_without_nones(vars(failure)) for failure in cluster.unreachable]
    if cluster.rtt is not None:
        data["rtt"] = _rtt_to_json(cluster.rtt)
    return data


def parse_hosts(fields: Fields) -> list[Host]:
    """The field `hosts` of a file: at least one host, no name twice."""
    hosts = [_parse_host(item) for item in fields.objects("hosts")]
    _check_hosts(hosts, fields.place)
    return hosts


def hosts_to_json(hosts: Sequence[Host]) -> list[dict[str, Any]]:
    """The JSON list that stands for `hosts`."""
    return [_without_nones(vars(host)) for host in hosts]


def _rtt_to_json(rtt: RttMeasurement) -> dict[str, Any]:
    return {
        "tool": rtt.tool,
        "options": dict(rtt.options),
        **({"started": rtt.started} if rtt.started is not None else {}),
        "seconds": round(rtt.seconds, 3),
        "notes": list(rtt.notes),
        "reading": percentile_name(rtt.reading),
        "rtt_us": {
            percentile_name(percentile): _matrix_to_json(matrix)
            for percentile, matrix in sorted(rtt.rtt_us.items())
        },
        "samples": rtt.samples.tolist(),
        "losses": rtt.losses.tolist(),
        "failures": [_without_nones(vars(failure)) for failure in rtt.failures],
    }


def _matrix_to_json(matrix: Matrix) -> list[list[float | None]]:
    return [[None if math.isnan(value) else value for value in row] for row in matrix.tolist()]


def _without_nones(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _parse_host(fields: Fields) -> Host:
    return Host(
        name=fields.word("name"),
        address=fields.word("address"),
        ssh_address=fields.optional_word("ssh_address"),
        user=fields.optional_word("user"),
        port=fields.optional_integer("port", low=1, high=65535),
        slots=fields.integer("slots", low=1, high=1 << 16, default=1),
    )


def _check_hosts(hosts: Sequence[Host], source: str) -> None:
    if not hosts:
        raise WrongUseError(f"{source}: hosts is empty")
    seen: set[str] = set()
    for host in hosts:
        if host.name in seen:
            raise WrongUseError(f"{source}: host {document.brief(host.name)} is listed twice")
        seen.add(host.name)


def _parse_failure(fields: Fields) -> Failure:
    return Failure(
        source=fields.text("source"),
        reason=fields.text("reason"),
        destination=fields.optional_text("destination"),
    )


def _parse_unreachable(fields: Fields) -> Unreachable:
    return Unreachable(
        source=fields.word("source"),
        reason=fields.text("reason"),
        user=fields.optional_word("user"),
        port=fields.optional_integer("port", low=1, high=65535),
        slots=fields.integer("slots", low=1, high=1 << 16, default=1),
        position=fields.optional_integer("position", low=0, high=1 << 32),
    )


def _parse_rtt(fields: Fields, size: int) -> RttMeasurement:
    by_percentile = fields.object("rtt_us")
    rtt_us = {
        _parse_percentile(key, by_percentile): by_percentile.matrix(key, size, high=MAX_RTT_US)
        for key in by_percentile.names()
    }
    reading = _parse_percentile(fields.text("reading"), fields)
    if reading not in rtt_us:
        raise fields.error("reading", "the name of a percentile that rtt_us holds")
    return RttMeasurement(
        rtt_us=rtt_us,
        reading=reading,
        samples=fields.counts("samples", size),
        losses=fields.counts("losses", size),
        tool=fields.text("tool"),
        options=fields.settings("options"),
        started=fields.optional_text("started"),
        seconds=fields.number("seconds", low=0.0, high=1e9),
        failures=[_parse_failure(item) for item in fields.objects("failures", optional=True)],
        notes=fields.texts("notes"),
    )


def _parse_percentile(key: str, fields: Fields) -> float:
    try:
        percentile = float(key[1:])
    except ValueError:
        percentile = -1.0
    # One spelling a percentile: `p10` beside `p10.0` would be two matrices for one.
    if not 0.0 <= percentile <= 100.0 or key != percentile_name(percentile):
        found = document.brief(key)
        raise WrongUseError(f"{fields.place}: {found} is no percentile (expected p0 to p100)")
    return percentile
