"""The words between plink and its trace workers."""

from __future__ import annotations

import importlib
import os
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import ProtocolError
from plink.probes.trace.protocol import (
    ProbeAnswer,
    Ready,
    Traced,
    TraceLimits,
    Unable,
    opening,
    parse_message,
    start_command,
)
from plink.probes.trace.tool import read_worker_program


def test_reads_what_workers_say() -> None:
    assert parse_message("ready", "python3") == Ready()
    said = parse_message("traced 10.0.0.9 u1=10.0.0.1/11.0 e12=10.0.0.9/0.0", "python3")
    answers = (ProbeAnswer(False, 1, "10.0.0.1", 11, 0), ProbeAnswer(True, 12, "10.0.0.9", 0, 0))
    assert said == Traced("10.0.0.9", answers)
    assert parse_message("traced 10.0.0.9", "python3") == Traced("10.0.0.9", ())


def test_what_a_worker_lacks_is_put_into_words() -> None:
    for line, words in (
        ("lacks scapy", "its py3 has no scapy"),
        ("lacks privilege", "give its py3 the capability CAP_NET_RAW"),
        ("failed \x1b[31mno such address", "cannot trace from its address: \ufffd[31mno such"),
    ):
        said = parse_message(line, "py3")
        assert isinstance(said, Unable)
        assert words in said.reason


@pytest.mark.parametrize(
    "line",
    [
        *("", "ready now", "lacks", "lacks money", "failed", "traced", "traced ", "traced here"),
        *("traced 10.0.0.9 ", "traced 10.0.0.9 u0=10.0.0.1/11.0", "traced 10.0.0.9 u1=10.0.0.1"),
        *("traced 10.0.0.9 u256=10.0.0.1/11.0", "traced 10.0.0.9 u1=10.0.0.256/11.0"),
        *("traced 10.0.0.9 t1=10.0.0.1/11.0", "traced 10.0.0.9 u1=10.0.0.1/256.0"),
        *("traced 10.0.0.9 u1=010.0.0.1/11.0", "traced 10.0.0.9 u١=10.0.0.1/11.0"),
        "traced 10.0.0.9  u1=10.0.0.1/11.0",
    ],
)
def test_refuses_what_no_worker_says(line: str) -> None:
    with pytest.raises(ProtocolError, match="its trace worker"):
        parse_message(line, "python3")


words = st.sampled_from(["traced", "10.0.0.9", "u1=10.0.0.1/11.0", "u1=", "ready", "e9", "lacks"])


@given(st.text() | st.lists(words | st.text(max_size=5)).map(" ".join))
def test_any_line_is_understood_or_refused(line: str) -> None:
    try:
        said = parse_message(line, "python3")
    except ProtocolError:
        return
    assert isinstance(said, Ready | Unable | Traced)


def test_the_opening_is_the_program_and_what_it_needs_to_know() -> None:
    text = opening(read_worker_program(), "10.0.0.1", TraceLimits(33434, 30, 0.6667))
    length, _, rest = text.partition("\n")
    assert rest[: int(length)] == read_worker_program()
    assert rest[int(length) :] == "begin 10.0.0.1 33434 30 0.667 0.002\n"


def test_an_interpreter_with_a_strange_path_is_one_word() -> None:
    command = shlex.split(start_command("/opt/my python/$(reboot)"))
    assert command[:3] == ["exec", "/opt/my python/$(reboot)", "-c"]
    assert len(command) == 4
    # A csh takes no line end between quotes.
    assert "\n" not in start_command("python3")


def test_importing_the_worker_changes_no_variable() -> None:
    before = dict(os.environ)
    importlib.reload(importlib.import_module("plink.probes.trace.worker"))
    assert dict(os.environ) == before
