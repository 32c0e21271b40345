"""Every malformed kind of host list: the line is named, and there is a hint."""

from __future__ import annotations

import time

import pytest

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import parse_host_list, parse_host_list_bytes

DASH = ", which programs take for an option"


def refusal(text: str) -> HostListError:
    with pytest.raises(HostListError) as caught:
        parse_host_list(text, "h.txt")
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "h.txt: lists no host"),
        ("# nothing\n\n", "h.txt: lists no host"),
        ("\n\nalone\n", "h.txt:3: alone is the only host listed"),
        ("a\nb\na\n", "h.txt:3: a is listed already at h.txt:1"),
        ("a\nb\nA.\n", "h.txt:3: A. is listed already at h.txt:1"),
        ("a\na:2222", "h.txt:2: a is listed already at h.txt:1"),
        ("a,b,a", "h.txt:1: a is listed twice on this line"),
        ("gpu3\ngpu[1-4]\n", "h.txt:2: gpu3 is listed already at h.txt:1"),
        ("2001:db8::1\n2001:0db8::0001", "h.txt:2: 2001:0db8::0001 is listed already at h.txt:1"),
        ("a\nb:0", "h.txt:2: '0' is not a port (a number from 1 to 65535)"),
        ("a\nb:65536", "h.txt:2: '65536' is not a port (a number from 1 to 65535)"),
        ("a\nb:ssh", "h.txt:2: 'ssh' is not a port (a number from 1 to 65535)"),
        ("a\nb:", "h.txt:2: '' is not a port (a number from 1 to 65535)"),
        ("a\nb:+22", "h.txt:2: '+22' is not a port (a number from 1 to 65535)"),
        ("a\nb:٢٢", "h.txt:2: '٢٢' is not a port (a number from 1 to 65535)"),
        ("a\n[2001:db8::1]:x", "h.txt:2: 'x' is not a port (a number from 1 to 65535)"),
        ("a\n[2001:db8::1]22", "h.txt:2: '22' follows [ADDRESS], expected nothing or :PORT"),
        ("a\n2001:db8::g", "h.txt:2: '2001:db8::g' is not an IPv6 address"),
        ("a\n1:2:3", "h.txt:2: '1:2:3' is not an IPv6 address"),
        ("a\nfe80::1%a;b", "h.txt:2: 'fe80::1%a;b' is not an IPv6 address"),
        ("a\n[2001:zz]:22", "h.txt:2: '2001:zz' is not an IPv6 address"),
        ("a slots=0\nb", "h.txt:1: slots is '0', not a number from 1 to 65536"),
        ("a slots=-1\nb", "h.txt:1: slots is '-1', not a number from 1 to 65536"),
        ("a slots=65537\nb", "h.txt:1: slots is '65537', not a number from 1 to 65536"),
        ("a slots=1e3\nb", "h.txt:1: slots is '1e3', not a number from 1 to 65536"),
        ("a slots=\nb", "h.txt:1: slots is '', not a number from 1 to 65536"),
        ("a slots=2 slots=2\nb", "h.txt:1: slots is given twice for a host"),
        ("a slots=4 max_slots=2\nb", "h.txt:1: max_slots is less than slots"),
        ("a max_slots=x\nb", "h.txt:1: max_slots is 'x', not a number from 1 to 65536"),
        ("a b", "h.txt:1: 'b' after the host is not understood"),
        ("a cpus=8\nb", "h.txt:1: 'cpus=8' after the host is not understood"),
        ("a\nb[4-1]", "h.txt:2: the range 4-1 runs backwards"),
        ("a\nb[0-99999999]", "h.txt:2: the range 0-99999999 expands to more than 65,536 names"),
        ("a\nb[1", "h.txt:2: a bracket is not closed"),
        ("a,,b", "h.txt:1: a comma has no host before or after it"),
        ("a,b,", "h.txt:1: a comma has no host before or after it"),
        ("a\n@b", "h.txt:2: '' is not a user name"),
        ("a\n-l@b", "h.txt:2: '-l' is not a user name"),
        ("a\nbob@", "h.txt:2: 'bob@' names no host"),
        ("a\n:22", "h.txt:2: ':22' names no host"),
        ("a\n-oProxyCommand=x", "h.txt:2: '-oProxyCommand=x' begins with a dash" + DASH),
        ("a\n[1-2]-,-[3-4]", "h.txt:2: '-3' begins with a dash" + DASH),
        ("a\nb;reboot", "h.txt:2: 'b;reboot' is not a host name"),
        ("a\n$(id)", "h.txt:2: '$(id)' is not a host name"),
        ("a\nbücher", "h.txt:2: 'bücher' is not a host name"),
        ("a\n10.0.0.300", "h.txt:2: '10.0.0.300' is not an IPv4 address"),
        ("a\n10.0.0.[254-256]", "h.txt:2: '10.0.0.256' is not an IPv4 address"),
        ("a\n10.1", "h.txt:2: '10.1' is not an IPv4 address"),
        ("a\nb..c", "h.txt:2: 'b..c' has an empty part"),
        ("a\n.b", "h.txt:2: '.b' has an empty part"),
        ("a\nb\x1b[31m", r"h.txt:2: contains the control character '\x1b'"),
        ("a\x00\nb", r"h.txt:1: contains the control character '\x00'"),
        ("a\rb\r", r"h.txt:1: contains the control character '\r'"),
    ],
)
def test_refuses_and_names_the_line(text: str, message: str) -> None:
    assert str(refusal(text)) == message


def test_too_long_names_are_cut_in_the_message() -> None:
    message = str(refusal("a\n" + "x" * 64))
    assert message.startswith("h.txt:2: 'xxx")
    assert message.endswith("is too long for a host name")
    assert len(message) < 120
    assert str(refusal("a\n" + "x." * 127)) == "h.txt:2: a name is longer than 253 characters"


def test_hints_say_how_ranks_are_written() -> None:
    assert "slots=8" in (refusal("a:0\nb").hint or "")
    assert "slots=8" in (refusal("a\na").hint or "")
    assert refusal("a").hint == "probing needs at least two hosts"


def test_a_list_of_too_many_hosts_is_refused_before_it_fills_the_memory() -> None:
    text = "".join(f"{letter}[0-49999]\n" for letter in "abcdefgh")
    assert str(refusal(text)) == "h.txt:2: the list has more than 65,536 hosts"


def test_hostile_text_is_refused_in_time_that_grows_with_its_length() -> None:
    size = 1 << 18
    started_s = time.process_time()
    for text in ["a" * size, "a" + " " * size + "b", ", " * size, "[" * size, "a[1]" * size]:
        refusal(text)
    assert time.process_time() - started_s < 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\nc\xff\n", "standard input:3: is not text in UTF-8"),
        ("a\nb\n".encode("utf-16"), "standard input:1: is not text in UTF-8"),
        (b"\x7fELF\x01\x01", r"standard input:1: contains the control character '\x7f'"),
        (b"", "standard input: lists no host"),
    ],
)
def test_bytes_that_are_no_list(content: bytes, message: str) -> None:
    with pytest.raises(HostListError) as caught:
        parse_host_list_bytes(content, "standard input")
    assert str(caught.value) == message
