"""A snapshot comes back bit by bit on any number of servers, or is refused in a sentence."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.snapshots import GROUPS, MANIFEST, parts_of, state_of
from plink.base.errors import PlinkError, WrongUseError
from plink.hub.hyper import OPTIMIZERS
from plink.hub.manifest import Key, Manifest
from plink.hub.service import ServiceOptions
from plink.hub.snapshot import Part, Piece, Snapshot, assemble
from plink.hub.snapshot_file import header_of, read_part, write_part
from support.schemas import check

CHUNK_BYTES = 1024


def options(optimizer: str = "adamw", **more: Any) -> ServiceOptions:
    return ServiceOptions("job", 3, optimizer, chunk_bytes=CHUNK_BYTES, **more)


def through_files(parts: list[Part], folder: Path) -> list[Part]:
    read = []
    for part in parts:
        path = str(folder / f"part{part.server}")
        write_part(path, part)
        read.append(read_part(path))
    return read


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ports_of", [(1,), (3,), (1, 2), (2, 1, 4)])
def test_numbers_come_back_from_any_servers(
    optimizer: str, ports_of: tuple[int, ...], tmp_path: Path
) -> None:
    service = options(optimizer)
    arrays = state_of(service)
    found = assemble(through_files(parts_of(service, arrays, ports_of), tmp_path))
    assert found.options == service
    assert found.manifest == MANIFEST
    assert (found.iteration, found.groups) == (5, GROUPS)
    assert {name: array.tobytes() for name, array in found.arrays.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }
    assert found.steps_of(0, MANIFEST.items) == 5
    # However it lay: the digest is of what it is.
    assert found.digest == assemble(parts_of(service, arrays, (1,))).digest
    other = state_of(service, seed=4)
    assert found.digest != assemble(parts_of(service, other, (1,))).digest


def test_the_same_state_makes_the_same_file(tmp_path: Path) -> None:
    (part,) = parts_of(options(), state_of(options()), (1,))
    hashes = {write_part(str(tmp_path / name), part) for name in ("a", "b")}
    assert len(hashes) == 1
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_server_without_chunks_has_a_part(tmp_path: Path) -> None:
    parts = parts_of(options("sgd"), state_of(options("sgd")), (1,) * 8)
    assert any(not part.pieces for part in parts)
    assert assemble(through_files(parts, tmp_path)).manifest == MANIFEST


def test_steps_may_differ_from_piece_to_piece() -> None:
    (part,) = parts_of(options(mode="async"), state_of(options()), (1,))
    pieces = tuple(
        dataclasses.replace(piece, steps=number) for number, piece in enumerate(part.pieces)
    )
    found = assemble([dataclasses.replace(part, pieces=pieces)])
    assert [found.steps_of(piece.offset_items, piece.items) for piece in pieces] == list(
        range(len(pieces))
    )
    assert found.steps_of(0, pieces[0].items + 1) == 1


def test_headers_are_as_the_schema_says() -> None:
    for ports_of in ((1,), (1, 2)):
        for part in parts_of(options(), state_of(options()), ports_of):
            check("snapshot", json.loads(json.dumps(header_of(part, "0" * 64))))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("snapshot") / "part"
    (part, _) = parts_of(options("momentum"), state_of(options("momentum")), (1, 1))
    write_part(str(path), part)
    return path.read_bytes()


def refused(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    with pytest.raises(WrongUseError) as caught:
        read_part(str(path))
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert sentence.isprintable()
    return sentence.removeprefix(f"{path}: ")


def test_every_cut_and_every_changed_byte_is_refused(content: bytes, tmp_path: Path) -> None:
    for size in (*range(200), *range(200, len(content), 97)):
        refused(content[:size], tmp_path / "cut")
    refused(content + b"\0", tmp_path / "longer")
    for place in (*range(120), *range(120, len(content), 53)):
        changed = bytearray(content)
        changed[place] ^= 1
        if not is_padding(content, place):
            refused(bytes(changed), tmp_path / "changed")


def is_padding(content: bytes, place: int) -> bool:
    header = int.from_bytes(content[16:24], "little")
    end = 56 + header
    return end <= place < end + -end % 64


def remade(content: bytes, change: Any) -> bytes:
    """The file with another header, and hashes that agree with it."""
    length = int.from_bytes(content[16:24], "little")
    header = json.loads(content[56 : 56 + length])
    change(header)
    text = json.dumps(header).encode()
    begin = 56 + length
    data = content[begin + -begin % 64 :]
    head = content[:16] + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + text
    return head + bytes(-len(head) % 64) + data


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda header: header.update(version=2),
            "version 2 of the format plink.snapshot is not supported",
        ),
        (lambda header: header.update(format="plink.plan"), "expected a plink.snapshot file"),
        (lambda header: header.update(server=2), "server is 2 of 2 servers"),
        (lambda header: header.update(arrays=["values"]), "arrays is not that of optimizer"),
        (lambda header: header.update(groups=header["groups"][:1]), "groups has 1"),
        (lambda header: header["pieces"]["items"].pop(), "items has"),
        (lambda header: header["pieces"]["items"].__setitem__(0, 0), "items[0] is 0"),
        (
            lambda header: header["pieces"]["offsets_items"].reverse(),
            "offsets_items are not",
        ),
        (lambda header: header["pieces"]["items"].__setitem__(0, 1), "bytes, expected"),
        (lambda header: header["service"].update(commit="never"), "commit is 'never'"),
        (lambda header: header["groups"][0].update(nesterov=True), "nesterov needs momentum"),
        (lambda header: header.update(data_sha256="0" * 64), "its numbers are damaged"),
        (lambda header: header["manifest"]["keys"].clear(), "manifest.keys"),
    ],
)
def test_a_header_that_cannot_be_is_refused(
    change: Any, sentence: str, content: bytes, tmp_path: Path
) -> None:
    assert sentence in refused(remade(content, change), tmp_path / "wrong")


@pytest.mark.parametrize(
    "place",
    [("service",), ("service", "quotas"), ("groups", 0), ("manifest",), ("manifest", "keys", 0)],
)
def test_no_member_of_a_header_may_be_missing(
    place: tuple[Any, ...], content: bytes, tmp_path: Path
) -> None:
    def members(header: Any) -> Any:
        for step in place:
            header = header[step]
        return header

    names: list[str] = []
    remade(content, lambda header: names.extend(members(header)))
    for name in names:
        changed = remade(content, lambda header, name=name: members(header).pop(name))
        refused(changed, tmp_path / "short")


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for content in (data, b"plink snapshot 1" + data):
            refused(content, Path(folder) / "any")


def test_another_version_is_named(content: bytes, tmp_path: Path) -> None:
    said = refused(b"plink snapshot 2" + content[16:], tmp_path / "newer")
    assert said == "is a snapshot of another version of plink"


def test_parts_that_do_not_belong_together_are_refused() -> None:
    service = options()
    parts = parts_of(service, state_of(service), (1, 1))
    with pytest.raises(WrongUseError, match="1 of 2 parts of a snapshot, of servers 1, do not"):
        assemble(parts[1:])
    with pytest.raises(WrongUseError, match="is missing or there twice"):
        assemble([parts[0], parts[0]])
    with pytest.raises(WrongUseError, match="of iterations 5 and 6"):
        assemble([parts[0], dataclasses.replace(parts[1], iteration=6)])
    other = msgspec.structs.replace(service, workers=2)
    with pytest.raises(WrongUseError, match="different services"):
        assemble([parts[0], dataclasses.replace(parts[1], options=other)])
    with pytest.raises(WrongUseError, match="without any part"):
        assemble([])


def whole() -> Snapshot:
    return assemble(parts_of(options(), state_of(options()), (1,)))


def test_a_service_of_other_keys_or_state_does_not_go_on_from_it() -> None:
    found = whole()
    found.check(options("adam"), MANIFEST)
    with pytest.raises(WrongUseError, match="other keys, shapes, types or groups"):
        found.check(options(), Manifest((Key("w", (1011,)),)))
    with pytest.raises(WrongUseError, match="of optimizer adamw, whose state is not that of sgd"):
        found.check(options("sgd"), MANIFEST)


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    (part,) = parts_of(options(), state_of(options()), (1,))
    path = tmp_path / "part"
    path.write_bytes(b"earlier")
    bad = Piece(0, 1, {"values": np.ones(4, np.float32)})
    with pytest.raises(KeyError):
        write_part(str(path), dataclasses.replace(part, pieces=(bad,)))
    assert path.read_bytes() == b"earlier"
    assert [file.name for file in tmp_path.iterdir()] == ["part"]
    with pytest.raises(PlinkError, match="cannot be written"):
        write_part(str(tmp_path / "no" / "folder"), part)
