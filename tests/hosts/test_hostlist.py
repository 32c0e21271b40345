"""Host lists in every form that is understood, and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import HostListError
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import parse_host_list, parse_host_list_bytes


def names(text: str) -> list[str]:
    return [host.name for host in parse_host_list(text, "hosts.txt")]


def test_the_forms_of_a_line() -> None:
    text = """\
# the training cluster
gpu1
root@gpu2:2222   # behind the other port

10.0.0.7:22 slots=8
2001:db8::1
bob@[2001:db8::2]:2200 slots = 4 max_slots=8
[2001:db8::3]
gpu[08-09],gpu20 slots=2
carol@node[1-2].example.org:23
"""
    assert parse_host_list(text, "hosts.txt") == [
        ListedHost("gpu1", place="hosts.txt:2"),
        ListedHost("gpu2", user="root", port=2222, place="hosts.txt:3"),
        ListedHost("10.0.0.7", port=22, slots=8, place="hosts.txt:5"),
        ListedHost("2001:db8::1", place="hosts.txt:6"),
        ListedHost("2001:db8::2", user="bob", port=2200, slots=4, place="hosts.txt:7"),
        ListedHost("2001:db8::3", place="hosts.txt:8"),
        ListedHost("gpu08", slots=2, place="hosts.txt:9"),
        ListedHost("gpu09", slots=2, place="hosts.txt:9"),
        ListedHost("gpu20", slots=2, place="hosts.txt:9"),
        ListedHost("node1.example.org", user="carol", port=23, place="hosts.txt:10"),
        ListedHost("node2.example.org", user="carol", port=23, place="hosts.txt:10"),
    ]


def test_a_slurm_node_list_on_one_line() -> None:
    listed = names("a[0-5],b3,c[1-2]-ib\n")
    assert listed == ["a0", "a1", "a2", "a3", "a4", "a5", "b3", "c1-ib", "c2-ib"]


def test_a_slurm_node_list_on_several_lines_with_blanks() -> None:
    assert names("a[0-1], b3\nrack[1-2]node[01-02]") == [
        *["a0", "a1", "b3"],
        *["rack1node01", "rack1node02", "rack2node01", "rack2node02"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a\nb\n",
        "a\nb",
        "a\r\nb\r\n",
        "\ufeffa\nb\n",
        "\ta \n\n b\t\n",
        "a#first\n#\nb # second",
        "a , b",
        "a\nb slots=1 max-slots=2",
    ],
)
def test_white_space_line_ends_and_comments(text: str) -> None:
    assert names(text) == ["a", "b"]


def test_a_dns_name_may_end_in_a_dot_and_a_user_name_hold_an_at() -> None:
    first, second = parse_host_list("a.example.org.\nana@corp.org@b", "x")
    assert first.name == "a.example.org."
    assert (second.user, second.name) == ("ana@corp.org", "b")


def test_an_ipv6_zone_is_part_of_the_name() -> None:
    assert names("fe80::1%eth0\nfe80::1%eth1") == ["fe80::1%eth0", "fe80::1%eth1"]


def test_the_bytes_of_a_file_that_windows_wrote() -> None:
    content = b"\xef\xbb\xbfa\r\nb slots=2\r\n"
    assert parse_host_list_bytes(content, "hosts") == [
        ListedHost("a", place="hosts:1"),
        ListedHost("b", slots=2, place="hosts:2"),
    ]


host_names = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,4})?(\.[a-z]{1,5})?", fullmatch=True)
addresses = st.ip_addresses().map(str)
hosts = st.builds(
    ListedHost,
    name=st.one_of(host_names, addresses),
    user=st.none() | st.from_regex(r"[a-z_][a-z0-9_.-]{0,10}", fullmatch=True),
    port=st.none() | st.integers(1, 65535),
    slots=st.integers(1, 65536),
)


def as_line(host: ListedHost) -> str:
    name = f"[{host.name}]" if ":" in host.name and host.port else host.name
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port else ""
    return f"{user}{name}{port}" + (f" slots={host.slots}" if host.slots > 1 else "")


@given(
    st.lists(hosts, min_size=2, max_size=12, unique_by=lambda host: host.name),
    st.sampled_from(["\n", "\r\n", "  # comment\n", "\n\n#\n"]),
)
def test_what_is_written_is_read_back(listed: list[ListedHost], end: str) -> None:
    text = "".join(as_line(host) + end for host in listed)
    found = parse_host_list(text, "x")
    expected = [(host.name, host.user, host.port, host.slots) for host in listed]
    assert [(host.name, host.user, host.port, host.slots) for host in found] == expected


def check_refusal(error: HostListError, start: str) -> None:
    message = str(error)
    assert message.startswith(start)
    assert message.isprintable()
    assert not message.endswith(".")
    assert error.hint is not None


@given(st.one_of(st.text(max_size=60), st.text("a1[]-,:@.#= \t\nslot", max_size=60)))
def test_any_text_is_a_list_or_one_clear_error(text: str) -> None:
    try:
        found = parse_host_list(text, "hosts.txt")
    except HostListError as error:
        check_refusal(error, "hosts.txt:")
        return
    assert len({host.name.lower() for host in found}) == len(found) >= 2
    assert not any(host.name.startswith("-") for host in found)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_list_or_one_clear_error(content: bytes) -> None:
    try:
        assert len(parse_host_list_bytes(content, "standard input")) >= 2
    except HostListError as error:
        check_refusal(error, "standard input:")
