"""Keys are cut into chunks that cover them once, and whatever must be equal is in the digest."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from plink.base.errors import WrongUseError
from plink.formats.structs import convert
from plink.hub.manifest import TYPES, Key, Manifest


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    groups = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.one_of(st.integers(1, 40), st.integers(1, 20_000)), min_size=1))
    keys = [
        Key(f"k{number}", (items,), draw(st.integers(0, groups - 1)), draw(st.sampled_from(TYPES)))
        for number, items in enumerate(sizes)
    ]
    return Manifest(tuple(keys), groups)


@given(manifests(), st.sampled_from([4, 64, 4096, 32768]), st.booleans())
def test_chunks_cover_all_items_once_within_groups(
    manifest: Manifest, most_bytes: int, by_key: bool
) -> None:
    chunks = manifest.chunks(most_bytes, by_key=by_key)
    assert chunks.offsets_items[0] == 0
    assert (chunks.offsets_items[1:] == np.cumsum(chunks.items)[:-1]).all()
    assert chunks.items.sum() == manifest.items
    assert chunks.items.min() > 0
    ends = chunks.offsets_items + chunks.items
    offsets = manifest.offsets_items
    for number in range(len(chunks)):
        first, end = chunks.first_keys[number], chunks.end_keys[number]
        assert offsets[first] <= chunks.offsets_items[number] < offsets[first + 1]
        assert offsets[end - 1] < ends[number] <= offsets[end]
        assert {key.group for key in manifest.keys[first:end]} == {chunks.groups[number]}
    if by_key:
        assert [key.items for key in manifest.keys] == chunks.items.tolist()
    else:
        assert chunks.items.max() * 4 <= most_bytes


def test_small_keys_share_a_chunk_and_large_ones_begin_their_own() -> None:
    keys = [
        Key("w", (20_000,)),
        Key("b", (100,)),
        Key("n", (8000,)),
        Key("m", (192,)),
        Key("g", (4,), 1),
    ]
    chunks = Manifest(tuple(keys), 2).chunks()
    assert chunks.items.tolist() == [8192, 8192, 3616 + 100, 8192, 4]
    assert chunks.first_keys.tolist() == [0, 0, 0, 2, 4]
    assert chunks.end_keys.tolist() == [1, 1, 2, 4, 5]
    assert chunks.groups.tolist() == [0, 0, 0, 0, 1]


@given(manifests())
def test_json_round_trip_keeps_the_digest(manifest: Manifest) -> None:
    again = convert(msgspec.to_builtins(manifest), Manifest, "message")
    assert again == manifest
    assert again.digest == manifest.digest


def test_digest_changes_with_whatever_must_be_equal() -> None:
    key = Key("a", (2, 3))
    manifest = Manifest((key, Key("b", (1,))), 2)
    others = [
        Manifest((replace(key, name="c"), Key("b", (1,))), 2),
        Manifest((replace(key, shape=(3, 2)), Key("b", (1,))), 2),
        Manifest((replace(key, group=1), Key("b", (1,))), 2),
        Manifest((replace(key, type="bfloat16"), Key("b", (1,))), 2),
        Manifest((Key("b", (1,)), key), 2),
        Manifest((key,), 2),
        Manifest((key, Key("b", (1,))), 3),
    ]
    assert len({manifest.digest, *(other.digest for other in others)}) == 8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Key("", (1,)), "key '': name is '', expected `str` of length >= 1"),
        (lambda: Key("\ud800", (1,)), "a key's name has 0 bytes, expected 1 to 1024"),
        (lambda: Key("a", (0,)), "key 'a': shape[0] is 0, expected `int` >= 1"),
        (
            lambda: Key("a", (1,), 0, "int8"),
            "key 'a': type is 'int8', expected one of float32, float64, float16, bfloat16",
        ),
        (lambda: Manifest((Key("a", (1,)), Key("a", (2,)))), "key 'a' is there twice"),
        (lambda: Manifest((Key("a", (1,), 1),)), "key 'a' is in group 1, but there are 1 groups"),
        (lambda: Manifest(()), "keys is (), expected `array` of length >= 1"),
        (
            lambda: Manifest(tuple(Key(str(i), (1 << 40,)) for i in range(2))),
            "2199023255552 numbers in all, at most 1099511627776 are possible",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"groups": 1, "keys": []},
        {"groups": 1, "keys": [1]},
        {"groups": 1, "keys": [{"name": "a", "shape": [], "group": 0, "type": "float32"}]},
        {"groups": 1, "keys": [{"name": "a", "shape": [2, -1], "group": 0, "type": "float32"}]},
        {"groups": 1, "keys": [{"name": "a", "shape": [1 << 40] * 64, "group": 0, "type": "x"}]},
        {"groups": 1, "keys": [{"name": "a", "shape": [1], "group": 1, "type": "float32"}]},
    ],
)
def test_a_wrong_message_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(WrongUseError):
        convert(values, Manifest, "message")


def test_a_text_that_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(WrongUseError):
        Key("\ud800", (1,))
    with pytest.raises(WrongUseError):
        Key("w", (1,), type="\ud800")
