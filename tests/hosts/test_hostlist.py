"""Host lists in every form that is understood, and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost, parse_host_list, parse_host_list_bytes


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


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("master:4\nnode1:2\nnode2:1\n", {"master": 4, "node1": 2, "node2": 1}),
        ("10.0.0.179:512\n10.0.0.180:512\n", {"10.0.0.179": 512, "10.0.0.180": 512}),
        ("first\nsecond:2", {"first": 1, "second": 2}),
        ("a:8,b:8\n", {"a": 8, "b": 8}),
        ("a:2 user=bob\nb:2", {"a": 2, "b": 2}),
        ("n[1-2]:4", {"n1": 4, "n2": 4}),
        ("a:1\nb:1\na:1\nb:1\n", {"a": 2, "b": 2}),
        ("a slots=2 max-slots=4\nb cpu=4\n", {"a": 2, "b": 4}),
        ("a\na\nb\n", {"a": 2, "b": 1}),
        ("a\nb\na\nb\n", {"a": 2, "b": 2}),
    ],
)
def test_numbers_of_ranks(text: str, slots: dict[str, int]) -> None:
    found = parse_host_list(text, "x")
    assert {host.name: host.slots for host in found} == slots
    assert {host.port for host in found} == {None}


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("a:2222\nb:2222", 2222),
        ("me@a:22\nme@b:22", 22),
        ("a:22 slots=4\nb:22 slots=4", 22),
        ("[2001:db8::1]:22\n[2001:db8::2]:22", 22),
        ("a port=443\nb port=443", 443),
    ],
)
def test_numbers_of_ports(text: str, port: int) -> None:
    assert [host.port for host in parse_host_list(text, "x")] == [port, port]


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("a:22\nb:22", ["a port=22", "a slots=22"]),
        ("a:4\nb:443", ["b port=443", "b slots=443"]),
        ("a:4\nb:2222", ["a slots=4", "b port=2222"]),
    ],
)
def test_a_number_that_may_be_either_is_refused_with_both_readings(
    text: str, hints: list[str]
) -> None:
    with pytest.raises(HostListError) as caught:
        parse_host_list(text, "x")
    assert all(f"`{hint}`" in str(caught.value.hint) for hint in hints)


@pytest.mark.parametrize(
    "text",
    [
        "# hostname,ipaddress\nn1,10.0.0.1\n\nn2,10.0.0.2 # second\n",
        "Hostname,IP\nn1,10.0.0.1\nn2,10.0.0.2\n",
        "10.0.0.1, n1\n10.0.0.2, n2",
        "n1;10.0.0.1\r\nn2;10.0.0.2\r\n",
        "n1\t10.0.0.1\nn2  10.0.0.2",
    ],
)
def test_a_name_and_its_address_on_each_line(text: str) -> None:
    found = parse_host_list(text, "x")
    assert [(host.name, host.connect_to) for host in found] == [
        ("n1", "10.0.0.1"),
        ("n2", "10.0.0.2"),
    ]


def test_names_with_addresses_on_some_lines_alone_are_refused() -> None:
    with pytest.raises(HostListError) as caught:
        parse_host_list("n1,10.0.0.1\nn2,10.0.0.2\nn3\n", "x")
    assert str(caught.value).startswith("x:3: ")


def test_one_line_with_a_name_and_an_address_lists_two_hosts() -> None:
    assert names("n1,10.0.0.2\n") == ["n1", "10.0.0.2"]


def test_max_slots_alone_is_refused() -> None:
    with pytest.raises(HostListError) as caught:
        parse_host_list("a max-slots=4\nb max-slots=4", "x")
    assert "slots=4 max_slots=4" in str(caught.value.hint)


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
    """A line with the port after a colon where that is a port whatever its number."""
    is_clear = host.port is None or host.user or host.port >= 1024 or ":" in host.name
    name = f"[{host.name}]" if ":" in host.name and host.port else host.name
    user = f"{host.user}@" if host.user else ""
    port = f":{host.port}" if host.port and is_clear else ""
    more = "" if is_clear else f" port={host.port}"
    return f"{user}{name}{port}{more}" + (f" slots={host.slots}" if host.slots > 1 else "")


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
