"""The binary form of cluster files: the same as JSON, and harmless whatever is in it."""

import io
import json
import os
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from formats.refusals import is_one_sentence, refusal
from formats.test_cluster import clusters, small
from plink.base.errors import PlinkError, WrongUseError
from plink.formats import archive, cluster, document
from plink.formats.cluster import Cluster
from plink.formats.order import OBJECTIVES
from plink.formats.order_basis import order_basis

WHOLE = cluster.decode_cluster(small(), "c.json")


def binary(found: Cluster) -> bytes:
    stream = io.BytesIO()
    archive.write(stream, cluster.encode_cluster(found), document.dump)
    return stream.getvalue()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(held: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, content in held.items():
            archive.writestr(name, content)
    return stream.getvalue()


def npy(matrix: Any, **more: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, matrix, **more)
    return stream.getvalue()


def assert_same(one: object, other: object) -> None:
    """Equal in every member, whatever types hold the numbers."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict) and isinstance(other, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            assert_same(each, its)
    elif isinstance(one, Struct):
        for name in set(one.__struct_fields__) - {"file_hash", "source"}:
            assert_same(getattr(one, name), getattr(other, name))
    else:
        assert one == other


@given(clusters() | st.just(WHOLE))
def test_both_forms_hold_the_same(found: Cluster) -> None:
    text = document.dump(cluster.encode_cluster(found))
    as_json, as_binary = (
        cluster.parse_cluster(text, "c.json"),
        cluster.parse_cluster(binary(found), "c.npz"),
    )
    assert_same(as_binary, as_json)
    assert document.dump(cluster.encode_cluster(as_binary)) == text
    assert binary(as_json) == binary(as_binary)
    assert as_json.file_hash == document.compute_digest(
        cluster.encode_cluster(found), is_binary=False
    )
    assert as_binary.file_hash == document.compute_digest(
        cluster.encode_cluster(found), is_binary=True
    )
    for objective in OBJECTIVES:
        basis = order_basis(found, objective)
        assert order_basis(as_json, objective) == order_basis(as_binary, objective) == basis


def test_numpy_reads_it(tmp_path: Path) -> None:
    cluster.write_cluster(str(tmp_path / "c.npz"), WHOLE)
    assert WHOLE.rtt is not None
    with np.load(tmp_path / "c.npz", allow_pickle=False) as held:
        np.testing.assert_array_equal(held["rtt/rtt_us/10"], WHOLE.rtt.rtt_us[10.0])
        assert json.loads(held["cluster.json"])["hosts"] == small()["hosts"]


def test_a_file_stays_readable_while_another_replaces_it(tmp_path: Path) -> None:
    path = str(tmp_path / "c.npz")
    cluster.write_cluster(path, WHOLE)
    before = cluster.read_cluster(path)
    cluster.write_cluster(path, Cluster(WHOLE.hosts))
    assert before.rtt is not None
    assert WHOLE.rtt is not None
    np.testing.assert_array_equal(before.rtt.readings_us, WHOLE.rtt.readings_us)
    assert cluster.read_cluster(path).rtt is None


def test_a_pipe_is_read_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for content in (binary(WHOLE), document.dump(cluster.encode_cluster(WHOLE))):
        writer = threading.Thread(target=path.write_bytes, args=(content,))
        writer.start()
        found = cluster.read_cluster(str(path))
        writer.join()
        assert_same(found, WHOLE)


def test_it_is_told_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "c.data"
    path.write_bytes(binary(WHOLE))
    assert_same(cluster.read_cluster(str(path)), WHOLE)


def without(name: str) -> dict[str, bytes]:
    held = members(binary(WHOLE))
    del held[name]
    return held


def having(name: str, content: bytes) -> dict[str, bytes]:
    return {**members(binary(WHOLE)), name: content}


def renamed(change: Callable[[dict[str, Any]], None]) -> dict[str, bytes]:
    held = members(binary(WHOLE))
    data = json.loads(held["cluster.json"])
    change(data)
    return {**held, "cluster.json": json.dumps(data).encode()}


P10 = "rtt/rtt_us/10.npy"


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (without("cluster.json"), "no member cluster.json"),
        (without("rtt/samples.npy"), "samples"),
        (having("cluster.json", b"[]"), "expected a JSON object"),
        (having("cluster.json", b"{"), "not valid JSON"),
        (having("../../x.npy", npy(np.eye(2))), "is no matrix of a cluster"),
        (having("hosts/0.npy", npy(np.eye(2))), "is no matrix of a cluster"),
        (having("format.npy", npy(np.eye(2))), "is no matrix of a cluster"),
        (having("rtt/more", b"text"), "is not a NumPy matrix"),
        (having(P10, npy(np.eye(3))), "is a matrix of 3 x 3, expected 2 x 2"),
        (having(P10, npy(np.zeros(4))), "is not a NumPy matrix"),
        (having(P10, npy(np.zeros((2, 2, 1)))), "is not a NumPy matrix"),
        (having(P10, npy(np.array([[0, 1j], [1, 0]]))), "is not a NumPy matrix"),
        (having(P10, npy(np.array([[0, {}], [1, 0]], dtype=object))), "is not a NumPy matrix"),
        (having(P10, npy(np.asfortranarray([[0.0, 2.0], [1.0, 0.0]]))), "is not a NumPy matrix"),
        (having(P10, npy(np.eye(2, dtype=np.float32))), "numbers are float32, expected float64"),
        (having(P10, npy(np.eye(2))[:-1]), "does not hold exactly"),
        (having(P10, npy(np.eye(2)) + b"0"), "does not hold exactly"),
        (having(P10, npy(np.eye(2))[:20]), "is not a NumPy matrix"),
        (having(P10, b""), "is not a NumPy matrix"),
        (having(P10, npy(np.array([[0.0, -1.0], [1.0, 0.0]]))), r"10\[0\]\[1\] is -1, expected"),
        (having(P10, npy(np.array([[0.0, 1.0], [np.inf, 0.0]]))), r"10\[1\]\[0\] is inf, exp"),
        (having(P10, npy(np.array([[0.0, 1.0], [1e9, 0.0]]))), r"10\[1\]\[0\] is 1e\+09, exp"),
        (
            having("rtt/samples.npy", npy(np.eye(2))),
            "expected a matrix of whole numbers, found float64",
        ),
        (having("rtt/samples.npy", npy(np.array([[0, 1], [-1, 0]]))), r"samples\[1\]\[0\] is -1"),
        (having("rtt/options/a.npy", npy(np.eye(2))), "options"),
        (having("made_from.npy", npy(np.eye(2))), "made_from|is no matrix of a cluster"),
        (renamed(lambda data: data.pop("rtt")), "is no matrix of a cluster"),
        (renamed(lambda data: data.update(version=9)), "version 9"),
        (renamed(lambda data: data.update(format="plink.order")), "expected a plink.cluster"),
    ],
)
def test_what_is_wrong_is_said(held: dict[str, bytes], reason: str) -> None:
    with pytest.raises(WrongUseError, match=reason) as refused:
        cluster.parse_cluster(archive_of(held), "c.npz")
    assert is_one_sentence(refused.value, "c.npz")


def test_a_matrix_that_claims_to_be_huge_takes_no_memory() -> None:
    heading = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        heading, {"descr": "<f8", "fortran_order": False, "shape": (9_999_999, 9_999_999)}
    )
    with pytest.raises(WrongUseError, match="does not hold exactly"):
        cluster.parse_cluster(archive_of(having(P10, heading.getvalue())), "c.npz")


def test_packed_members_are_refused() -> None:
    with pytest.raises(WrongUseError, match=r"c.npz: .* compressed"):
        cluster.parse_cluster(archive_of(members(binary(WHOLE)), zipfile.ZIP_DEFLATED), "c.npz")


def test_a_table_of_contents_without_end_is_refused() -> None:
    many = archive_of({f"{number}.npy": b"" for number in range(25_000)})
    with pytest.raises(
        WrongUseError, match=r"c.npz: is no complete .npz file \(too many members\)"
    ):
        cluster.parse_cluster(many, "c.npz")


def test_members_that_lie_on_each_other_are_refused() -> None:
    """Of a few megabytes, each read once for each of thousands of names."""
    content = bytearray(binary(WHOLE))
    directory, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entries = bytes(content[directory:end])
    last = entries[entries.rindex(b"PK\x01\x02") :]
    name = last[46:]
    more = b"".join(last.replace(name, b"%04d" % number + name[4:]) for number in range(100))
    count = struct.unpack_from("<H", content, end + 10)[0] + 100
    struct.pack_into("<HHL", content, end + 8, count, count, len(entries) + len(more))
    with pytest.raises(WrongUseError, match=r"c.npz: the files in the archive overlap"):
        cluster.parse_cluster(bytes(content[:end]) + more + bytes(content[end:]), "c.npz")


@given(st.data())
def test_a_damaged_file_ends_in_a_sentence(data: st.DataObject) -> None:
    content = bytearray(binary(WHOLE))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(4, len(content)))
    refused = refused_by(bytes(content[:cut]))
    assert refused is None or is_one_sentence(refused, "c.npz")


def refused_by(content: bytes) -> WrongUseError | None:
    try:
        cluster.parse_cluster(content, "c.npz")
    except WrongUseError as refused:
        return refused
    return None


def test_offsets_beyond_the_file_are_refused() -> None:
    content = bytearray(binary(WHOLE))
    directory = content.index(b"PK\x01\x02")
    struct.pack_into("<I", content, directory + 42, 0xFFFFFFF0)
    assert is_one_sentence(refusal(lambda: cluster.parse_cluster(bytes(content), "c.npz")), "c.npz")


def test_only_clusters_are_written_so(tmp_path: Path) -> None:
    with pytest.raises(WrongUseError, match=r"only cluster files are written as \.npz"):
        document.check_writable(str(tmp_path / "order.npz"))
    with pytest.raises(WrongUseError, match=r"\.npz files are never packed"):
        document.check_writable(str(tmp_path / "c.npz.gz"), has_matrices=True)
    document.check_writable(str(tmp_path / "c.npz"), has_matrices=True)


def test_more_json_than_is_ever_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "MOST_BYTES", 500)
    with pytest.raises(PlinkError, match="would hold more than") as refused:
        cluster.write_cluster(str(tmp_path / "c.json"), WHOLE)
    assert ".npz" in str(refused.value.hint)
    assert list(tmp_path.iterdir()) == []
    cluster.write_cluster(str(tmp_path / "c.npz"), WHOLE)


def test_a_matrix_that_nobody_looks_at_takes_no_memory(tmp_path: Path) -> None:
    size = 1024
    rng = np.random.default_rng(0)
    readings = rng.uniform(10.0, 100.0, (size, size))
    np.fill_diagonal(readings, np.nan)
    assert WHOLE.rtt is not None
    held = {
        "cluster.json": json.dumps(
            {
                "format": "plink.cluster",
                "version": 1,
                "hosts": [{"name": f"h{i}", "address": f"h{i}"} for i in range(size)],
                "rtt": {"tool": "t", "options": {}, "seconds": 0, "reading": 0, "rtt_us": {}},
            }
        ).encode(),
        **{f"rtt/rtt_us/{percentile}.npy": npy(readings) for percentile in range(8)},
        "rtt/samples.npy": npy(np.ones((size, size), dtype=np.int64)),
        "rtt/losses.npy": npy(np.zeros((size, size), dtype=np.int64)),
    }
    path = tmp_path / "c.npz"
    path.write_bytes(archive_of(held))
    program = (
        "import resource, sys; from plink.formats import cluster; "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "kept = cluster.read_cluster(sys.argv[1]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    copy_kib = size * size * 8 // 1024
    assert int(done.stdout) < 4 * copy_kib
