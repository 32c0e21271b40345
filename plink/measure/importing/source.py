"""Import of other programs' measurements in any supported file, recognised by content.

Input that cannot be read raises `WrongUseError`, which names the place.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.log_prefixes import strip_prefixes
from plink.base.replacing import replace
from plink.base.text import format_count, format_names
from plink.formats import document, matrix_csv
from plink.formats.cluster import Cluster, is_cluster, parse_cluster
from plink.formats.hosts import Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import Measurement, RttMeasurement
from plink.formats.outputs import ImportedQuantity, ImportOutput
from plink.formats.units import RateUnit, find_time_unit_by_name
from plink.formats.unpacking import Content
from plink.measure.importing.benchmark_logs import LOGS, BenchmarkLog
from plink.measure.importing.described import import_network, is_described
from plink.measure.importing.pair_lists import as_csv, is_pair_list, read_pair_list
from plink.measure.importing.pairs import Readings, build_cluster, decode_text
from plink.measure.requests import ImportRequest


def import_matrix(content: bytes, source: str, *, unit: str | None, percentile: float) -> Cluster:
    """Return the cluster in a CSV matrix of round-trip times; each pair counts as measured once.

    Args:
        unit: unit of the numbers where the text names none, in any spelling.
        percentile: percentile of a pair's samples that the numbers are.
    """
    given = None if unit is None else find_time_unit_by_name(unit)
    matrix = matrix_csv.parse(content, source, given)
    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in matrix.names],
        rtt=RttMeasurement(
            rtt_us={percentile: matrix.rtt_us},
            reading=percentile,
            samples=np.isfinite(matrix.rtt_us).view(np.int8),
            losses=np.zeros(matrix.rtt_us.shape, dtype=np.int8),
            tool="import",
            options={"unit": matrix.unit},
            notes=matrix.notes,
        ),
        made_from=document.digest(content),
    )


_MOST_LOOKED_AT = 1 << 16
_BETWEEN_HOSTS = "between hosts, plink reads nccl-tests, OSU's benchmarks, perftest and mpiGraph"
_HINT_PROBE = "plink probe measures the round trips and bandwidths of all pairs itself"
_HINT_OPTIONS = "unit, percentile and size are for measurements of other programs"
_HINT_PERFTEST = "keep its output, after a line `# pair: CLIENT SERVER` for each run"


_ONE_MACHINE = "measures the GPUs of one machine, not hosts"
# Output of known programs that cannot be imported: what it looks like, what it is, what to do.
_TEXTS: Sequence[tuple[str, str, str]] = (
    (
        r"P2P=(?:Enabled|Disabled)|P2P Connectivity Matrix|^\[?P2P \(?Peer-to-Peer",
        f"is output of p2pBandwidthLatencyTest, which {_ONE_MACHINE}",
        _BETWEEN_HOSTS,
    ),
    (
        r"^nvbandwidth Version|^memcpy (?:CE|SM) .{0,80}bandwidth \(GB/s\)|\bdevice_to_\w+_memcpy_",
        f"is output of nvbandwidth, which {_ONE_MACHINE}",
        _BETWEEN_HOSTS,
    ),
    (
        r"\bNCCL INFO\b",
        "is what NCCL logs, which holds no bandwidths and no times",
        "plink verify compares the log with an order, for the launcher nccl",
    ),
    (
        r"^\[ *ID\] +Interval +Transfer|^Connecting to host \S+, port [0-9]+",
        "is output of iperf, which names no two hosts of a cluster",
        _HINT_PROBE,
    ),
    (
        r"bytes from .{1,300} time=|^rtt min/avg/max|^round-trip min/avg/max",
        "is output of ping, which names one end alone",
        _HINT_PROBE,
    ),
)
# The same of JSON, by a key in it.
_JSONS: Sequence[tuple[str, str, str]] = (
    ('"test_info', "is perftest's JSON, which names neither hosts nor units", _HINT_PERFTEST),
    ('"nvbandwidth', f"is nvbandwidth's JSON: it {_ONE_MACHINE}", _BETWEEN_HOSTS),
    ('"intervals', "is iperf3's JSON, which names one end alone", _HINT_PROBE),
    ("", "is JSON, not CSV", "plink show and plink order take plink's own files as they are"),
)


def refuse_unreadable(text: str, source: str) -> None:
    """Raise, with a hint, for JSON and for output of known programs that cannot be imported."""
    head = text[:_MOST_LOOKED_AT]
    is_json = text[:4096].lstrip().startswith(("{", "[{"))
    for pattern, fault, hint in _JSONS if is_json else _TEXTS:
        if re.search(pattern, head, re.MULTILINE):
            raise WrongUseError(f"{source}: {fault}", hint)


def import_files(paths: Sequence[str], options: ImportRequest) -> tuple[Cluster, int]:
    """Return the cluster in a file, or in several logs and pair lists, and how many were left out.

    A folder stands for the files in it. Of several files, those that hold no measurement are left
    out, named in the cluster's notes and counted in the second value.
    """
    files = list_files(paths)
    if len(files) == 1:
        content, source = document.read_content(files[0]), document.label(files[0])
        return import_content(content, source, options), 0
    parts: list[Readings] = []
    refused: list[tuple[str, WrongUseError]] = []
    whole = hashlib.sha256()
    for path in files:
        source = document.label(path)
        try:
            content = document.read_content(path)
            parts += _read_one_of_several(content, source, options)
        except WrongUseError as error:
            refused.append((source, error))
        else:
            whole.update(content)
    if refused and not any(part.pairs or part.left_out for part in parts):
        raise refused[0][1]
    if refused:
        sources = format_names([source for source, _ in refused])
        what = format_count(len(refused), "file")
        parts[0].notes.append(f"left out {what}: {sources}; the first because of: {refused[0][1]}")
    cluster = build_cluster(
        parts,
        format_names([document.label(path) for path in files]),
        percentile=options.percentile,
    )
    cluster = replace(cluster, made_from=f"sha256:{whole.hexdigest()}")
    return cluster, len(refused)


def list_files(paths: Sequence[str]) -> list[str]:
    """Return the files that paths name, with those in folders (no hidden ones), once each."""
    files: dict[str, str] = {}
    for path in paths:
        try:
            names = [path]
            if path and Path(path).is_dir():
                found = (each for each in Path(path).iterdir() if each.is_file())
                names = sorted(str(each) for each in found if each.name[0] != ".")
            for name in names:
                files.setdefault(
                    name if name == document.STANDARD_STREAM else os.path.realpath(name), name
                )
        # ValueError: a NUL in the name.
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise WrongUseError(f"{path}: cannot be read: {reason}") from None
        if not names:
            raise WrongUseError(f"{path}: the folder has no files to import")
    return list(files.values())


def import_content(content: Content, source: str, options: ImportRequest) -> Cluster:
    """Return the cluster in other programs' output, CSV, a TOML description or a cluster file."""
    has_options = options != ImportRequest()
    if is_described(source) and isinstance(content, bytes):
        if has_options:
            raise WrongUseError(
                f"{source}: is a network description, which has its own units", _HINT_OPTIONS
            )
        return import_network(content, source)
    if not isinstance(content, bytes) or is_cluster(content):
        if has_options:
            raise WrongUseError(
                f"{source}: is a cluster file, to which unit, percentile and size do not apply",
                _HINT_OPTIONS,
            )
        return parse_cluster(content, source)
    text = decode_text(content, source)
    found = _read_pairs(text, source, options)
    if not isinstance(found, str):
        hint = next((log.hint for log in _find_logs(text)), None)
        cluster = build_cluster(found, source, percentile=options.percentile, hint=hint)
        return replace(cluster, made_from=document.digest(content))
    if options.size is not None:
        raise WrongUseError(
            f"{source}: is neither a benchmark's output nor a list of pairs, so it has no sizes",
            "size applies to output with several message sizes",
        )
    unit = options.parsed_unit
    if isinstance(unit, RateUnit):
        raise WrongUseError(
            f"{source}: a matrix has round-trip times, but {unit.name} is not a unit of time",
            "give bandwidths with one row per pair: source,destination,gbit_s",
        )
    as_read = content if found is text else found.encode()
    del text, found  # of thousands of hosts they take as much memory as the matrix
    cluster = import_matrix(as_read, source, unit=options.unit, percentile=options.percentile)
    return replace(cluster, made_from=document.digest(content))


def _find_logs(text: str) -> list[BenchmarkLog]:
    """Return the kinds of benchmark logs whose typical words occur in a text."""
    return [log for log in LOGS if log.is_kind(text)]


def is_log(content: bytes) -> bool:
    """Return whether a file's content is a log of a benchmark that plink can import."""
    return bool(_find_logs(content.decode("utf-8", "replace")))


def _read_pairs(text: str, source: str, options: ImportRequest) -> list[Readings] | str:
    """Return the readings in benchmarks' logs or a pair list; the CSV of what may be a matrix.

    For each kind of benchmark whose log the text is, or has in it, there are readings of their own.
    """
    if _find_logs(text):
        if options.unit is not None:
            raise WrongUseError(
                f"{source}: is a benchmark's log, which names its units itself",
                "unit applies only to tables",
            )
        bare = strip_prefixes(text)
        return [log.read(bare, source, options.size_bytes) for log in _find_logs(bare)]
    table = as_csv(text, source)
    if is_pair_list(table):
        unit, percentile = options.parsed_unit, options.percentile
        return [read_pair_list(table, source, options.size_bytes, unit, percentile)]
    refuse_unreadable(text, source)
    return table


def _read_one_of_several(content: Content, source: str, options: ImportRequest) -> list[Readings]:
    if not isinstance(content, bytes) or is_cluster(content) or is_described(source):
        raise WrongUseError(
            f"{source}: is a cluster or network file, which cannot be imported with other files",
            "several files must be logs of benchmarks, or lists with one row per pair",
        )
    parts = _read_pairs(decode_text(content, source), source, options)
    if isinstance(parts, str):
        raise WrongUseError(
            f"{source}: is neither a benchmark's log nor a list of pairs", "import a matrix alone"
        )
    return parts


def describe_import(cluster: Cluster, output: str) -> ImportOutput:
    """Return what `plink import --json` prints: hosts, and numbers of pairs with a reading."""
    rtt, bandwidth = cluster.rtt, cluster.bandwidth
    return ImportOutput(
        output,
        cluster.names,
        None if rtt is None else _describe_quantity(rtt, rtt.readings_us),
        None if bandwidth is None else _describe_quantity(bandwidth, bandwidth.gbit_s),
    )


def _describe_quantity(measurement: Measurement, values: Matrix) -> ImportedQuantity:
    return ImportedQuantity(
        measurement.tool,
        len(values) * (len(values) - 1),
        int(np.isfinite(values).sum()),
        measurement.notes,
        measurement.failures,
    )
