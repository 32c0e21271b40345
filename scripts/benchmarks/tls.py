"""Cost of TLS: an engine that encrypts and one that does not, in turn in the same processes.

All ranks are on this host and talk over loopback, where no link is the limit and every byte costs
processor time at both ends. The limit is what one core of this machine encrypts by `openssl speed`:
a rank of a flat plan encrypts 2 (n - 1) / n of the buffer, and decrypts as much.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchkit.arguments import numbers
from benchkit.labs import Loopback
from benchkit.processes import answers_of_ranks
from benchkit.programs.tls_rank import CLEAR, ENCRYPTED
from benchkit.report import Report
from plink.transport.certificates import Holder, write_certificates

EXAMPLE = "--ranks 2,4 --repetitions 3"
QUICK = "--ranks 2 --repetitions 2 --set-ups 1 --sizes 4000,1000000"
HEADER = (
    "ranks",
    "bytes",
    "clear, ms, median (least)",
    "TLS, ms, median (least)",
    "TLS / clear",
    "CPU s per GB and rank, clear",
    "TLS",
    "more, of what openssl takes",
)
SET_UP_HEADER = ("ranks", "set-up clear, ms", "TLS", "CPU ms per rank, clear", "TLS ")
# Small ones so often that the clock can tell.
_BYTES_IN_A_ROW = 4_000_000
_MOST_IN_A_ROW = 500
_OPENSSL = {
    "TLS_AES_128_GCM_SHA256": "aes-128-gcm",
    "TLS_CHACHA20_POLY1305_SHA256": "chacha20-poly1305",
}

Figures = Sequence[tuple[float, float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ranks", type=numbers, default=[2, 4, 8], help="2,4,8")
    parser.add_argument(
        "--sizes", type=numbers, default=[4_000, 1_000_000, 100_000_000], help="in bytes"
    )
    parser.add_argument("--repetitions", type=int, default=9, help="of each, in turn")
    parser.add_argument("--set-ups", type=int, default=5, help="of each, in turn")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the tables."""
    rows, set_ups = [], []
    for ranks in arguments.ranks:
        answers = measure_tls(ranks, arguments)
        cipher = answers[0]["cipher"]
        rate_bytes_s = cipher_rate_bytes_s(cipher)
        for size_bytes in arguments.sizes:
            rows.append(row(ranks, size_bytes, answers, rate_bytes_s))
        set_ups.append(set_up_row(ranks, answers))
        if ranks == arguments.ranks[0]:
            where = "by the kernel" if answers[0]["in_kernel"] else "in user space"
            limit = f"{rate_bytes_s / 1e9:.2f} GB/s" if rate_bytes_s else "not known here"
            report.say(f"{cipher}, {where}; one core by openssl speed: {limit}")
    report.table(HEADER, rows)
    report.table(SET_UP_HEADER, set_ups)


def measure_tls(ranks: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the measurements of every rank."""
    hosts = Loopback(ranks)
    sizes = [
        (size, max(1, min(_MOST_IN_A_ROW, _BYTES_IN_A_ROW // size))) for size in arguments.sizes
    ]
    with tempfile.TemporaryDirectory(prefix="plink-bench-") as folder:
        write_certificates(f"{folder}/tls", {"host": Holder(["127.0.0.1"])}, 1)
        return answers_of_ranks(
            hosts,
            hosts.in_rack_order(),
            "tls_rank",
            store=f"{folder}/store",
            tls=f"{folder}/tls/host",
            sizes=sizes,
            repetitions=arguments.repetitions,
            set_ups=arguments.set_ups,
        )


def row(
    ranks: int, size_bytes: int, answers: Sequence[dict[str, Any]], rate_bytes_s: float | None
) -> tuple[str, ...]:
    """Return the row of one size; a repetition takes as long as on its slowest rank."""
    medians_s, texts, cpu_s_gb = {}, {}, {}
    for kind in (CLEAR, ENCRYPTED):
        seconds, cpu_s = together([answer["reduce"][str(size_bytes)][kind] for answer in answers])
        medians_s[kind] = statistics.median(seconds)
        texts[kind] = f"{1e3 * medians_s[kind]:.3f} ({1e3 * min(seconds):.3f})"
        cpu_s_gb[kind] = cpu_s / size_bytes * 1e9
    more = ""
    if rate_bytes_s:
        limit_s_gb = 4 * (ranks - 1) / ranks * 1e9 / rate_bytes_s
        more = f"{(cpu_s_gb[ENCRYPTED] - cpu_s_gb[CLEAR]) / limit_s_gb:.2f} x"
    return (
        str(ranks),
        str(size_bytes),
        texts[CLEAR],
        texts[ENCRYPTED],
        f"{medians_s[ENCRYPTED] / medians_s[CLEAR]:.2f}",
        f"{cpu_s_gb[CLEAR]:.3f}",
        f"{cpu_s_gb[ENCRYPTED]:.3f}",
        more,
    )


def set_up_row(ranks: int, answers: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the row of one number of ranks."""
    figures = {
        kind: together([answer["set_up"][kind] for answer in answers])
        for kind in (CLEAR, ENCRYPTED)
    }
    return (
        str(ranks),
        *(f"{1e3 * statistics.median(seconds):.1f}" for seconds, _ in figures.values()),
        *(f"{1e3 * cpu_s:.2f}" for _, cpu_s in figures.values()),
    )


def together(of_ranks: Sequence[Figures]) -> tuple[list[float], float]:
    """Seconds of the slowest rank by repetition, and the median processor seconds of a rank."""
    seconds = [max(took for took, _ in one) for one in zip(*of_ranks, strict=True)]
    cpu_s = statistics.median(
        statistics.mean(used for _, used in one) for one in zip(*of_ranks, strict=True)
    )
    return seconds, cpu_s


def cipher_rate_bytes_s(cipher: str) -> float | None:
    """Return the bytes per second that one core encrypts; None without an `openssl` to ask."""
    if shutil.which("openssl") is None or cipher not in _OPENSSL:
        return None
    command = ["openssl", "speed", "-seconds", "1", "-bytes", "16384", "-evp", _OPENSSL[cipher]]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path("/"))
    found = re.search(r"([\d.]+)k\s*$", said.stdout)
    return 1e3 * float(found.group(1)) if found else None
