"""JSON is parsed as Python parses it, within limits, and not deaf to signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.formats import cluster, document
from plink.probes.json_parsing import parse_json

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
LEAF = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT
JSON = st.recursive(
    LEAF.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=30,
)
LAYOUT = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])


@given(JSON, LAYOUT)
def test_values_are_as_python_has_them(value: object, layout: dict[str, object]) -> None:
    text = json.dumps(value, **layout)  # type: ignore[arg-type]
    assert parse_json(f" {text}\n".encode()) == value


def once_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("twice")
    return found


@given(JSON.map(lambda value: json.dumps(value, ensure_ascii=False)), st.data())
def test_what_python_refuses_is_refused(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.sampled_from([*'{}[]",:x1 ', ""])) + text[at + 1 :]
    try:
        expected = json.loads(damaged, object_pairs_hook=once_each)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            parse_json(damaged.encode())
    else:
        assert parse_json(damaged.encode()) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1, "a": 2}', r"not valid JSON \(the name 'a' occurs twice in an object\)"),
        (
            b'{"a": [{"b": {"c": {"d": 1, "d": 1}}}]}',
            r"not valid JSON \(the name 'd' occurs twice in an object\)",
        ),
        (b'{"a": ' + b"9" * 5000 + b"}", r"not valid JSON \(a number has thousands of digits\)"),
        (b'{"a": [' + b"[]," * 300_000 + b"[]]}", "300,003 lists and objects exceed"),
        (b'{"a": [' + b'{"b":1},' * 300_000 + b"{}]}", "300,003 lists and objects"),
        (b'{"a": Infinity}', "Infinity is not a JSON number"),
        (b'{"a": [[1, NaN]]}', "NaN is not a JSON number"),
        (b'{"a": [[1, 2}]', "Expecting ',' delimiter"),
        (b'{"a": 1} 2', "Extra data"),
        (b"{'a': 1}", "Expecting property name enclosed in double quotes"),
        (b'{"a" 1}', "Expecting ':' delimiter"),
        (b'{"a": 1,}', "Expecting property name|Illegal trailing comma"),
    ],
)
def test_refusals_are_sentences(content: bytes, reason: str) -> None:
    with pytest.raises(WrongUseError, match=reason):
        document.parse(content, "x.json")
    assert is_one_sentence(refusal(lambda: document.parse(content, "x.json")), "x.json")


@pytest.mark.parametrize("depth", [60, 600, 6000, 60_000])
@pytest.mark.parametrize("frame", ["[{}]", '{{"a": {}}}'])
def test_any_depth_is_a_value_or_a_sentence(depth: int, frame: str) -> None:
    left, right = frame.format("x").split("x")
    content = f'{{"format": {left * depth}1{right * depth}}}'.encode()
    refused = "(too deeply nested|expected a plink.cluster file)"
    with pytest.raises(WrongUseError, match=refused):
        cluster.open_cluster(document.load_document(content, "x.json"))


def test_signals_are_heard_between_the_rows_of_a_matrix() -> None:
    row = b"[" + b"1.25, " * 1999 + b"null]"
    content = b'{"rtt": {"p10": [' + row + (b",\n" + row) * 700 + b"]}}"
    heard = 0

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1

    before = signal.signal(signal.SIGPROF, hear)
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    try:
        parse_json(content)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
    # While a native parser is at work, all that come count as one.
    assert heard > 5


def test_too_little_memory_is_a_sentence() -> None:
    program = (
        "import re, resource\n"
        "from pathlib import Path\n"
        "from plink.cli import main\n"
        "import plink.cli.show, plink.formats.comparison, plink.autotune.log.records\n"
        "status = Path('/proc/self/status').read_text()\n"
        "most = (int(re.search(r'VmSize:\\s+(\\d+)', status)[1]) << 10) + (200 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "main(['show', '-'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=b'{"a": [' + b"0.5," * (12 << 20) + b"1]}",
        capture_output=True,
        text=False,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        1,
        b"error: there is not enough memory for this command\n",
    )


@pytest.mark.parametrize(("mark", "number"), [(b"", 11), (b"\xef\xbb\xbf", 14)])
def test_a_byte_is_counted_from_the_beginning_of_the_file(mark: bytes, number: int) -> None:
    with pytest.raises(ValueError, match=f"byte {number} "):
        parse_json(mark + b'{"name": "\xff"}')
