import errno
import gzip
import io
import json
import os
import resource
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from plink.base.errors import PlinkError, WrongUseError
from plink.formats import document

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    document.write_bytes(path, b"content\n" * 1000)
    assert document.read_bytes(path) == b"content\n" * 1000
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    assert name.endswith(".gz") == (Path(path).stat().st_size < 1000)


def test_packing_is_reproducible(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        document.write_bytes(str(tmp_path / name), b"content")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, old: bytes | None
) -> None:
    target = tmp_path / "cluster.json"
    if old is not None:
        target.write_bytes(old)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(PlinkError, match=r"cluster.json: cannot be written: File too large"):
            document.write_bytes(str(target), b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == (
        {} if old is None else {"cluster.json": old}
    )


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")])
def test_a_write_that_breaks_off_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    target = tmp_path / "cluster.json"
    target.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise fault

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((PlinkError, KeyboardInterrupt)):
        document.write_bytes(str(target), b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [
        ("cluster.json", b"old")
    ]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(b"old")
    (tmp_path / "link.json").symlink_to("real.json")
    document.write_bytes(str(tmp_path / "link.json"), b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def test_permissions_of_the_old_file_stay_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_bytes(b"old")
    old.chmod(0o640)
    umask = os.umask(0o027)
    try:
        document.write_bytes(str(old), b"new")
        document.write_bytes(str(tmp_path / "new.json"), b"new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


def test_special_files_are_written_in_place(tmp_path: Path) -> None:
    document.write_bytes("/dev/null", b"gone")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(PlinkError, match="/dev/full: cannot be written: No space left"):
        document.write_bytes("/dev/full", b"x")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent/a.json", "No such file or directory"),
        ("folder", "Is a directory"),
        ("file/a.json", "Not a directory"),
        ("loop", "[Ll]oop|symbolic links"),
        ("n" * 300, "File name too long"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(PlinkError, match=f"cannot be written: .*({reason})"):
        document.write_bytes(str(tmp_path / name), b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "loop"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent/a.json", "there is no folder"),
        ("file/a.json", "there is no folder|Not a directory"),
        ("folder", "is a folder"),
        ("n" * 300, "File name too long"),
    ],
)
def test_places_are_refused_before_the_work(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WrongUseError, match=f"{name}: .*({reason})"):
        document.check_writable(str(tmp_path / name))


def test_places_that_can_be_written(tmp_path: Path) -> None:
    for path in (str(tmp_path / "a.json"), "/dev/null", "-"):
        document.check_writable(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["absent.json", "absent.json.gz"])
def test_a_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(WrongUseError, match=f"{name}: No such file or directory"):
        document.read_bytes(str(tmp_path / name))


@pytest.mark.parametrize("damage", ["cut", "flip", "plain", "empty header"])
def test_a_damaged_archive(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(os.urandom(5000)))
    if damage == "flip":
        packed[10:40] = bytes(byte ^ 0xFF for byte in packed[10:40])
    content = {
        "cut": bytes(packed[:-20]),
        "flip": bytes(packed),
        "plain": b'{"format": "plink.cluster"}',
        "empty header": b"\x1f\x8b",
    }[damage]
    (tmp_path / "a.json.gz").write_bytes(content)
    with pytest.raises(WrongUseError, match=r"a.json.gz: is no complete gzip file"):
        document.read_bytes(str(tmp_path / "a.json.gz"))


def test_an_archive_that_unpacks_without_end(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(2 << 20)))
    path = str(tmp_path / "bomb.gz")
    with pytest.raises(WrongUseError, match=f"{path}: unpacks to more than 1 MiB"):
        document.read_bytes(path, 1 << 20)


def test_a_device_without_end() -> None:
    with pytest.raises(WrongUseError, match="/dev/zero: is a device, expected a file"):
        document.read_bytes("/dev/zero")


def test_standard_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"in")))
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output))
    assert document.read_bytes("-") == b"in"
    document.write_bytes("-", b"out")
    assert output.getvalue() == b"out"
    assert document.label("-") == "standard input"


@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_what_is_dumped_is_parsed(data: dict[str, object]) -> None:
    assert document.parse(document.dump(data), "x") == data


def test_a_matrix_takes_a_line_a_row() -> None:
    text = document.dump({"hosts": 2, "rtt": {"p10": [[None, 1.5], [2, None]]}}).decode()
    assert text.splitlines() == [
        "{",
        ' "hosts": 2,',
        ' "rtt": {',
        '  "p10": [',
        "   [null, 1.5],",
        "   [2, null]",
        "  ]",
        " }",
        "}",
    ]


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_content_breaks_the_parser(content: bytes) -> None:
    assert is_one_sentence(refusal(lambda: document.parse(content, "x.json")), "x.json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b'{"format": "plink.clus', "not valid JSON"),
        (b"\xff\xfe{}", "is not JSON"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b"[" * 200_000, "too deeply nested"),
        (b'{"a":' * 200_000, "too deeply nested"),
        (b'{"name": "\\ud800"}', "half of a surrogate pair"),
        (b'{"name": "\xff"}', "byte 11 is not text in UTF-8"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[]", "expected a JSON object, found a list"),
        (b"null", "expected a JSON object, found null"),
        (b"true", "expected a JSON object, found true or false"),
        (b"1.5", "expected a JSON object, found a number"),
        (b'"text"', "expected a JSON object, found a text"),
    ],
)
def test_what_is_not_an_object(content: bytes, reason: str) -> None:
    with pytest.raises(WrongUseError, match=f"^x.json: .*{reason}"):
        document.parse(content, "x.json")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "expected a plink.cluster file, found a file that is not plink's"),
        ({"format": 1}, "found a file that is not plink's"),
        ({"format": "plink.order", "version": 1}, "found a 'plink.order' file"),
        ({"format": "plink.cluster"}, "version None of the format plink.cluster is not supported"),
        ({"format": "plink.cluster", "version": 2}, "version 2 of"),
        ({"format": "plink.cluster", "version": True}, "version True of"),
        ({"format": "plink.cluster", "version": 1.0}, "version 1.0 of"),
        ({"format": "plink.cluster", "version": "1"}, "version '1' of"),
        ({"format": "x" * 10_000}, r"found a 'x+\.\.\. file$"),
    ],
)
def test_other_formats_and_versions(data: dict[str, object], reason: str) -> None:
    with pytest.raises(WrongUseError, match=reason) as caught:
        document.check_format(data, "x.json", "plink.cluster", 1)
    assert len(str(caught.value)) < 120


def test_the_digest_is_sha256() -> None:
    assert document.digest(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
