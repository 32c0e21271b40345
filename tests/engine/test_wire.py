"""What engines say to each other, parsed: anything may come, and nothing but the format passes."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.engine import _native

SHORT = st.integers(0, 2**16 - 1)
LONG = st.integers(0, 2**64 - 1)
KINDS = st.integers(1, 3)
CAUSES = st.integers(0, 5)

OURS = _native.Hello(channel=0, rank=1, ranks=4, workers=2, job=b"j" * 16, plan=7)


def hello(**changes: object) -> _native.Hello:
    fields = {"channel": 0, "rank": 2, "ranks": 4, "workers": 2, "job": b"j" * 16, "plan": 7}
    return _native.Hello(**{**fields, **changes})  # type: ignore[arg-type]


@given(SHORT, SHORT, st.integers(0, 2**30 - 1), st.booleans())
def test_a_frame_says_what_was_put_into_it(
    collective: int, signature: int, chunk: int, is_broadcast: bool
) -> None:
    frame = _native.encode_frame(collective, signature, chunk, is_broadcast)
    assert len(frame) == 8
    assert _native.decode_frame(frame) == (collective, signature, chunk, is_broadcast)


@given(SHORT, SHORT, st.integers(0, 2**32 - 1), st.binary(min_size=16, max_size=16), LONG)
def test_a_hello_says_what_was_put_into_it(
    version: int, channel: int, rank: int, job: bytes, plan: int
) -> None:
    said = hello(version=version, channel=channel, rank=rank, job=job, plan=plan)
    heard = _native.parse_hello(said.encode())
    assert heard is not None
    assert (heard.version, heard.channel, heard.rank, heard.ranks) == (version, channel, rank, 4)
    assert (heard.workers, heard.job, heard.plan) == (2, job, plan)


@given(st.binary(min_size=_native.HELLO_BYTES, max_size=_native.HELLO_BYTES))
def test_no_other_bytes_are_a_hello(noise: bytes) -> None:
    heard = _native.parse_hello(noise)
    assert (heard is not None) == noise.startswith(b"plinkeng")


@given(st.integers(0, 2**8 - 1), st.integers(0, _native.HELLO_BYTES - 1))
def test_a_hello_with_any_byte_changed_is_refused_or_equal(value: int, place: int) -> None:
    """Two bytes of the format are unused."""
    words = bytearray(hello().encode())
    before = bytes(words)
    words[place] = value
    heard = _native.parse_hello(bytes(words))
    unused = place in (38, 39)
    might_be_another_rank_or_channel = place in (10, 28)
    if heard is not None and bytes(words) != before and not unused:
        assert _native.refusal(heard, OURS) or might_be_another_rank_or_channel


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"rank": 3, "channel": 2}, ""),
        ({"version": 9}, "it speaks version 9, here 3"),
        ({"job": b"k" * 16}, "it belongs to another job"),
        ({"ranks": 5}, "its number of ranks is 5, here 4"),
        ({"workers": 1}, "its number of workers is 1, here 2"),
        ({"plan": 8}, "it has another plan or other options"),
        ({"rank": 1}, "rank 1 does not connect to rank 1"),
        ({"rank": 0}, "rank 0 does not connect to rank 1"),
        ({"rank": 4}, "rank 4 does not connect to rank 1"),
        ({"channel": 3}, "it asks for a channel that does not exist"),
    ],
)
def test_who_does_not_fit_is_told_why(changes: dict[str, object], reason: str) -> None:
    assert _native.refusal(hello(**changes), OURS) == reason


@given(st.text(max_size=100))
def test_an_answer_says_whether_and_why(reason: str) -> None:
    answer = _native.encode_answer(reason)
    head, text = answer[: _native.ANSWER_BYTES], answer[_native.ANSWER_BYTES :]
    assert _native.parse_answer(head) == (reason == "", len(text))
    assert reason.encode().startswith(text)


@given(st.binary(min_size=_native.ANSWER_BYTES, max_size=_native.ANSWER_BYTES))
def test_no_other_bytes_are_an_answer(noise: bytes) -> None:
    if not noise.startswith(b"plinkeng"):
        assert _native.parse_answer(noise) is None
    elif (answer := _native.parse_answer(noise)) is not None:
        assert answer[1] <= 200


def shown(text: str) -> bytes:
    """What may be shown to people: ASCII, and a question mark for every other byte."""
    return bytes(byte if 32 <= byte < 127 else ord("?") for byte in text.encode())


@given(
    st.lists(st.tuples(KINDS, LONG, CAUSES, st.text("abc é\n\x1b", max_size=60)), max_size=5),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_messages_arrive_however_they_are_cut(
    messages: list[tuple[int, int, int, str]], cuts: list[int]
) -> None:
    stream = b"".join(_native.encode_message(*message) for message in messages)
    reader = _native.MessageReader()
    heard = []
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for begin, end in itertools.pairwise(places):
        heard += reader.feed(stream[begin:end])
    assert heard == [(*message[:3], shown(message[3])) for message in messages]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_noise_is_messages_or_refused(pieces: list[bytes]) -> None:
    reader = _native.MessageReader()
    with contextlib.suppress(RuntimeError):
        for piece in pieces:
            for kind, _, cause, text in reader.feed(piece):
                assert 1 <= kind <= 3
                assert 0 <= cause <= 5
                assert len(text) <= 400


REPORTS = st.lists(
    st.tuples(CAUSES, st.tuples(st.integers(0, 9), st.integers(0, 9))), min_size=1, max_size=6
)


@given(REPORTS, st.randoms())
def test_the_verdict_does_not_depend_on_who_was_heard_first(
    reports: list[tuple[int, tuple[int, int]]], random: object
) -> None:
    verdict = _native.decisive(reports)
    shuffled = list(reports)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert _native.decisive(shuffled) == verdict
    assert verdict == min((cause, *who) for cause, who in reports)
