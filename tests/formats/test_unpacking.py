"""What is packed far too well is refused before it fills the memory."""

from __future__ import annotations

import functools
import gzip
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.formats import document, matrix_csv


@functools.cache
def bomb() -> bytes:
    return gzip.compress(b'{"a": [0' + b",0" * (100 << 20) + b"]}")


def test_a_bomb_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(bomb())
    program = (
        "import sys\n"
        "from plink.cli import main\n"
        "try: main(['show', sys.argv[1]])\n"
        "finally: print(open('/proc/self/status').read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=False
    )
    refusal = f"error: {path}: decompresses to more than 256 times its size\n"
    hint = "hint: if you trust the file, decompress it with gunzip first\n"
    assert (done.returncode, done.stderr) == (2, refusal + hint)
    most = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert most is not None
    assert int(most[1]) < 200 * 1024


def test_a_bomb_on_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bomb())))
    with pytest.raises(WrongUseError, match="standard input: decompresses to more than 256 times"):
        document.read_bytes("-")


def test_what_unpacks_to_little_may_be_packed_well(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(bytes(8 << 20)))
    assert document.read_bytes(str(path)) == bytes(8 << 20)


def test_a_few_pairs_of_many_hosts_are_read(tmp_path: Path) -> None:
    """A matrix that is nearly all null packs to one part in about a hundred."""
    random = np.random.default_rng(5)
    rows = []
    for _ in range(1500):
        row = ["null"] * 1500
        for place in random.integers(0, 1500, 12):
            row[place] = f"{random.uniform(20.0, 200.0):.3f}"
        rows.append(f"[{', '.join(row)}]")
    content = ('{"p10": [' + ",\n".join(rows * 2) + "]}").encode()
    path = str(tmp_path / "sampled.json.gz")
    document.write_bytes(path, content)
    assert len(content) > (16 << 20)
    assert document.read_bytes(path) == content
    assert len(document.parse(content, "x")["p10"]) == 3000


def test_lists_have_a_limit_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_bytes(bytes(11))
    with pytest.raises(WrongUseError, match="holds more than 0 MiB"):
        document.read_bytes(str(path), 10)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"us," + b"," * (1 << 20), "row 1 has more than 65,536 values"),
        (b"us,a,b\na,0,1\nb" + b"," * (1 << 20), "row 3 has more than 65,536 values"),
        (b'us,a,b\n"a,\n' + b"0,1\n" * 1000, r"row 2: not CSV \(a quotation mark is not closed\)"),
        (b"us,a\n" + b"a,0\n" * 200_000, "has 200000 rows below row 1, expected 1, one per host"),
        # No room is made for N x N numbers before N rows of N numbers are there.
        (
            b"us"
            + b"".join(b",h%d" % i for i in range(60_000))
            + b"\n"
            + b"".join(b"h%d\n" % i for i in range(60_000)),
            r"row 2 \('h0'\) has 0 values, expected 60000",
        ),
    ],
)
def test_hostile_matrices_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(WrongUseError, match=f"^x.csv: {reason}"):
        matrix_csv.parse(content, "x.csv")


def test_a_cluster_has_a_limit_of_hosts() -> None:
    hosts = [{"name": f"h{i}", "address": "10.0.0.1"} for i in range(65_537)]
    from plink.formats import cluster

    with pytest.raises(WrongUseError, match=r"^x: hosts: "):
        cluster.decode_cluster({"format": "plink.cluster", "version": 1, "hosts": hosts}, "x")
