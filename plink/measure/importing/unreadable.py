"""Output of other programs that plink recognises but cannot use, with advice for each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from plink.base.errors import WrongUseError

_MOST_LOOKED_AT = 1 << 16
_BETWEEN_HOSTS = "between hosts, plink reads nccl-tests, OSU's benchmarks, perftest and mpiGraph"
_HINT_PROBE = "plink probe measures the round trips and bandwidths of all pairs itself"
_HINT_PERFTEST = "keep its output, after a line `# pair: CLIENT SERVER` for each run"


@dataclass(frozen=True)
class _OutputKind:
    """Unusable kind of output: how to recognise it, its name, and what to do instead."""

    pattern: re.Pattern[str]
    says: str
    hint: str


def _output_kind(pattern: str, says: str, hint: str) -> _OutputKind:
    return _OutputKind(re.compile(pattern, re.MULTILINE), says, hint)


_ONE_MACHINE = "measures the GPUs of one machine, not hosts"
_TEXTS = (
    _output_kind(
        r"P2P=(?:Enabled|Disabled)|P2P Connectivity Matrix|^\[?P2P \(?Peer-to-Peer",
        f"is output of p2pBandwidthLatencyTest, which {_ONE_MACHINE}",
        _BETWEEN_HOSTS,
    ),
    _output_kind(
        r"^nvbandwidth Version|^memcpy (?:CE|SM) .{0,80}bandwidth \(GB/s\)|\bdevice_to_\w+_memcpy_",
        f"is output of nvbandwidth, which {_ONE_MACHINE}",
        _BETWEEN_HOSTS,
    ),
    _output_kind(
        r"\bNCCL INFO\b",
        "is what NCCL logs, which holds no bandwidths and no times",
        "plink verify compares the log with an order, for the launcher nccl",
    ),
    _output_kind(
        r"^\[ *ID\] +Interval +Transfer|^Connecting to host \S+, port [0-9]+",
        "is output of iperf, which names no two hosts of a cluster",
        _HINT_PROBE,
    ),
    _output_kind(
        r"bytes from .{1,300} time=|^rtt min/avg/max|^round-trip min/avg/max",
        "is output of ping, which names one end alone",
        _HINT_PROBE,
    ),
    _output_kind(
        r"Intel\(R\) MPI Benchmarks",
        "is output of Intel's MPI benchmarks, which plink does not read",
        _BETWEEN_HOSTS,
    ),
    _output_kind(
        r"^sockperf: |^\[.{0,40}sockperf",
        "is output of sockperf, which names one end alone",
        _HINT_PROBE,
    ),
)
_JSONS: Mapping[str, tuple[str, str]] = {
    "test_info": (
        "is perftest's JSON, which names neither hosts nor units",
        _HINT_PERFTEST,
    ),
    "nvbandwidth": (f"is nvbandwidth's JSON: it {_ONE_MACHINE}", _BETWEEN_HOSTS),
    "intervals": ("is iperf3's JSON, which names one end alone", _HINT_PROBE),
    "nccl": (
        "is the JSON of nccl-tests, which plink does not read",
        "keep what nccl-tests prints: plink import reads that",
    ),
}


def refuse_unreadable(text: str, source: str) -> None:
    """Raise for output of a known program that does not concern pairs of hosts.

    Raises:
        WrongUseError: it is one of those; or JSON of any kind.
    """
    if text[:4096].lstrip().startswith(("{", "[{")):
        says, hint = _about_json(text[:_MOST_LOOKED_AT])
        raise WrongUseError(f"{source}: {says}", hint)
    head = text[:_MOST_LOOKED_AT]
    for known in _TEXTS:
        if known.pattern.search(head):
            raise WrongUseError(f"{source}: {known.says}", known.hint)


def _about_json(head: str) -> tuple[str, str]:
    for key, about in _JSONS.items():
        if f'"{key}' in head:
            return about
    return "is JSON, not CSV", "plink show and plink order take plink's own files as they are"
