"""`plink.MeasuredCluster`: hosts and the measurements between them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.base.arguments import check_instance, check_whole
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import keyword_function
from plink.base.text import brief, format_count, format_names
from plink.formats import cluster as cluster_file
from plink.formats.hosts import Group, Host
from plink.formats.limits import MAX_GBIT_S, MAX_RTT_US, WORD_EXPECTED, is_word
from plink.formats.matrices import Matrix
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement
from plink.measure.requests import ImportRequest
from plink.model.outliers import Outlier, outliers
from plink.verbs.common import PathName, copy_as, print_to_text

with lazy_imports():
    from plink.measure.importing import source as importing_source
    from plink.probes.hosts import hostlist
    from plink.show import scale
    from plink.show import summary as show_summary
    from plink.show.terminal import cluster, paper


_READING = 10.0
_MAX_SLOTS = 1 << 16


def import_cluster(path: PathName | Sequence[PathName], request: ImportRequest) -> MeasuredCluster:
    """Convert other programs' measurement files to a cluster (`plink import`).

    Args:
        path: a log of nccl-tests, of OSU's benchmarks or of perftest, mpiGraph's output, or a
            table: a row for every pair, or a matrix. Several logs and lists, or a folder, are read
            as one.
        request: what is asked for.

    Raises:
        WrongUseError: it is not one of these, or an argument is not allowed.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else path
    for each in paths if isinstance(paths, Sequence) else [paths]:
        check_instance("path", each, (str, os.PathLike), "a path or a list of paths")
    if not paths:
        raise WrongUseError("from_measurements() takes at least one path")
    found, _ = importing_source.import_files([os.fspath(each) for each in paths], request)
    return copy_as(MeasuredCluster, found)


_import_measurements = keyword_function("from_measurements", import_cluster, ImportRequest)


class MeasuredCluster(cluster_file.Cluster, frozen=True, dict=True):
    """Cluster as the library returns it: hosts and measurements, with methods to use them.

    The members of `plink.formats.cluster.Cluster`, of which most are used: `hosts`, `names`,
    `groups`, `rtt`, `bandwidth`, `uplinks`, `unreachable`.
    """

    @classmethod
    def read(cls, path: PathName) -> MeasuredCluster:
        """Read a cluster file, or raise WrongUseError if it is none."""
        return copy_as(cls, cluster_file.read_cluster(os.fspath(path)))

    @classmethod
    def from_matrix(
        cls,
        names: Sequence[str],
        rtt_us: npt.ArrayLike | None = None,
        *,
        gbit_s: npt.ArrayLike | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        slots: int = 1,
    ) -> MeasuredCluster:
        """Build a cluster from matrices of round-trip times in µs and bandwidths in Gbit/s.

        Args:
            names: names of the N hosts. A host's name is its address, too.
            rtt_us: (N, N) round-trip times in µs, `[source][destination]`; NaN where not measured.
                The diagonal says nothing.
            gbit_s: (N, N) bandwidths in Gbit/s, alike.
            groups: groups of near hosts, where they are known: name to the names of its hosts.
            slots: ranks that every host takes.

        Raises:
            WrongUseError: names that cannot be, or matrices of another shape or beyond all bounds.
        """
        if isinstance(names, str) or not names:
            raise WrongUseError("names must be a list of host names")
        for name in names:
            is_text = isinstance(name, str)
            why_invalid = hostlist.find_name_fault(name) if is_text else "is no host name"
            if why_invalid is not None:
                raise WrongUseError(f"{brief(name)} {why_invalid}", hostlist.HINT_NAME)
        check_whole("slots", slots, 1, _MAX_SLOTS)
        rtt = None
        if rtt_us is not None:
            readings = _matrix("rtt_us", rtt_us, len(names), MAX_RTT_US)
            rtt = RttMeasurement(
                rtt_us={_READING: readings},
                reading=_READING,
                samples=np.isfinite(readings).astype(np.int64),
                losses=np.zeros(readings.shape, dtype=np.int64),
                tool="import",
            )
        bandwidth = None
        if gbit_s is not None:
            rates = _matrix("gbit_s", gbit_s, len(names), MAX_GBIT_S)
            bandwidth = BandwidthMeasurement(
                gbit_s=rates, retransmits=np.full(rates.shape, np.nan), tool="import"
            )
        for group, hosts in (groups or {}).items():
            if not is_word(group):
                raise WrongUseError(
                    f"{group!r} is not a valid name of a group, expected {WORD_EXPECTED}"
                )
            if isinstance(hosts, str) or not hosts:
                raise WrongUseError(
                    f"group {group} must be a list of host names, not {brief(hosts)}"
                )
        try:
            return cls(
                hosts=[Host(name, name, slots=slots) for name in names],
                rtt=rtt,
                bandwidth=bandwidth,
                groups=[Group(group, list(hosts)) for group, hosts in (groups or {}).items()],
            )
        except ValueError as error:
            raise WrongUseError(str(error)) from None

    from_measurements = staticmethod(_import_measurements)

    @property
    def rtt_us(self) -> Matrix | None:
        """Round-trip times in µs, (N, N), `[source][destination]`; NaN where not measured."""
        return None if self.rtt is None else self.rtt.readings_us

    @property
    def gbit_s(self) -> Matrix | None:
        """Bandwidths in Gbit/s, (N, N), `[source][destination]`; NaN where not measured."""
        return None if self.bandwidth is None else self.bandwidth.gbit_s

    @cached_property
    def outliers(self) -> list[Outlier]:
        """Outlying hosts: much slower, or farther from all others, than the other hosts."""
        return outliers(self)

    @property
    def notes(self) -> list[str]:
        """Reasons for caution about the cluster's readings, one sentence each."""
        parts = (self.rtt, self.bandwidth, self.routes, self.uplinks)
        found = [note for part in parts if part is not None for note in part.notes]
        missing = [f"{failure.source} was unreachable" for failure in self.unreachable]
        return list(dict.fromkeys([*missing, *found]))

    @cached_property
    def hashed(self) -> MeasuredCluster:
        """Copy of this cluster with the hash of its file, which orders and plans record."""
        if self.file_hash is not None:
            return self
        return replace(self, file_hash=cluster_file.content_hash(self))

    def save(self, path: PathName) -> None:
        """Write a cluster file atomically.

        A name that ends in `.gz` packs it; one that ends in `.npz` makes it the binary form, which
        large clusters need.

        Raises:
            PlinkError: it cannot be written.
        """
        cluster_file.write_cluster(os.fspath(path), self)

    def __repr__(self) -> str:
        parts = [format_count(len(self.hosts), "host")]
        for matrix, what in ((self.rtt_us, "round-trip times"), (self.gbit_s, "bandwidths")):
            if matrix is not None:
                pairs = len(self.hosts) * (len(self.hosts) - 1)
                parts.append(f"{np.count_nonzero(np.isfinite(matrix))} of {pairs} {what}")
        if self.groups:
            parts.append(format_count(len(self.groups), "group"))
        if self.uplinks is not None:
            parts.append(format_count(len(self.uplinks.uplinks), "uplink"))
        return f"<plink.MeasuredCluster: {', '.join(parts)}; {format_names(self.names)}>"

    def __str__(self) -> str:
        """Return the text that `plink show` prints."""
        rtt = self.rtt
        summary = None if rtt is None else show_summary.summarise(self.names, rtt, rtt.reading)
        return print_to_text(
            lambda console: cluster.print_cluster(
                paper.Paper(console, scale.SHADES), self.source, self, summary, with_next=False
            )
        )


def checked_cluster(value: object, function: str) -> MeasuredCluster:
    """Return an argument as a `MeasuredCluster`, or raise WrongUseError if it is none."""
    if isinstance(value, MeasuredCluster):
        return value
    if isinstance(value, cluster_file.Cluster):
        return copy_as(MeasuredCluster, value)
    hint = (
        "plink.read(path) returns the cluster in a file"
        if isinstance(value, (str, os.PathLike))
        else None
    )
    raise WrongUseError(f"{function}() takes a MeasuredCluster, not {type(value).__name__}", hint)


def _matrix(name: str, values: npt.ArrayLike, size: int, high: float) -> Matrix:
    try:
        matrix = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongUseError(f"{name} must be a matrix of numbers") from None
    if matrix.shape != (size, size):
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise WrongUseError(f"{name} is {shape}, expected {size} x {size}: a row for every host")
    np.fill_diagonal(matrix, np.nan)
    wrong = np.argwhere(np.isinf(matrix) | (matrix < 0.0) | (matrix > high))
    if len(wrong):
        row, column = wrong[0]
        raise WrongUseError(
            f"{name}[{row}][{column}] is {matrix[row, column]:g}, "
            f"expected NaN or a number from 0 to {high:,.0f}"
        )
    return matrix
