"""What launchers put before lines, taken off again."""

from __future__ import annotations

import pytest

from plink.base.log_prefixes import strip_prefixes
from support.cpu_time import least_cpu_s

LINES = [
    "# nThread 1 nGpus 1 minBytes 8",
    "#  Rank  0 Group  0 Pid  12 on node1 device  0 [0x04] x",
    "     8388608        131072     float    none      -1    350.9   23.91   22.41    N/A",
    "",
    "0                       1.90",
    "# Out of bounds values : 0 OK",
]
TEXT = "\n".join(LINES)

PREFIXES = [
    *("0: ", " 0: ", "12: ", "[0] ", "[0]: ", "[rank0]: ", "[default0]:"),
    *("[1,0]<stdout>:", "[1,0]<stdout>: ", "[1,12]<stderr>: ", "[prterun-login-38@1,0]<stdout>: "),
    *("[prterun-a-1@1,0][node1:77]<stdout>: ", "Wed Oct  1 12:34:56 2025[1,0]<stdout>:"),
    *("node1: ", "10.0.2.12: ", "gpu-a_1.example.org: ", "node1: 0: ", "node1: [0] "),
    *("[pod/nccl-0/mpi] ", "[pod/nccl-0/mpi] 2026-01-02T03:04:05.123456789Z "),
    *("nccl-0-x7 mpi ", "nccl-0   | ", "worker_1  | 0: "),
    *("2026-01-02T03:04:05Z ", "2026-01-02 03:04:05,123 ", "[2026-01-02 03:04:05] "),
    *("2026-01-02T03:04:05+01:00 ", "2026/01/02 03:04:05 ", "[12:01:02] ", "12:01:02.5 "),
    *("Jan 02 03:04:05 ", "Jan  2 03:04:05 node1 srun[12]: ", "[   12.345678] "),
    *("(TrainWorker pid=123, ip=10.0.0.1) ", "\x1b[32mnode1:\x1b[0m ", "\x1b[1;31m[0]\x1b[m "),
]


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n")]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_log_is_as_the_program_printed_it(prefix: str) -> None:
    found = strip_prefixes("\n".join(prefix + line for line in LINES))
    assert words(found) == words(TEXT)
    # Digits that stand first in a line stay first: columns are found by that.
    assert found.split("\n")[4].startswith("0  ")
    bare_ends = strip_prefixes("\n".join((prefix + line).rstrip() for line in LINES))
    assert words(bare_ends) == words(TEXT)


def test_what_has_no_prefix_stays() -> None:
    other = [
        " Mtu             : 4096[B]",
        " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:224:04:233",
        " local address: LID 0000 QPN 0x0093 PSN 0xbf9bfe",
        "node3: Test NCCL failure common.cu:308 'remote process exited'",
        "Warning: 5 2.0",
        "gpu1:0\tgpu2:1",
        "node1:21:21 [0] NCCL INFO Bootstrap : Using eth0:10.11.13.106<0>",
    ]
    text = "\n".join([*LINES, *other])
    assert strip_prefixes(text) == text
    assert strip_prefixes(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    "part",
    [
        "[",
        "[1]",
        "0: ",
        "0:",
        "\x1b[",
        "\x1b]",
        "\x1b",
        "a ",
        "a/",
        " ",
        "[ 1",
        "Jan 02 ",
        "(",
        "-",
    ],
)
def test_long_lines_take_linear_time(part: str) -> None:
    # Some hundredths of a second; minutes if it were quadratic.
    assert least_cpu_s(lambda: strip_prefixes(f"{part * 320_000}\n# x"), 5.0) < 5.0
