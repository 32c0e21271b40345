"""What each launcher cannot take is refused in one sentence that says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.errors import WrongUseError
from plink.files.cluster import Host
from plink.launchers import FORMATS

LAUNCHERS = {
    "hosts": "a list of names",
    "openmpi": "Open MPI",
    "openmpi-rankfile": "Open MPI",
    "mpich": "MPICH",
    "torchrun": "torchrun",
    "env": "a list of environments",
}
OPEN_MPI = ["openmpi", "openmpi-rankfile"]


def refusal(name: str, hosts: list[Host]) -> WrongUseError:
    with pytest.raises(WrongUseError) as caught:
        FORMATS[name].render(hosts)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "odd",
    [
        *[
            "a b",
            " a",
            "a\n",
            "a\tb",
            "a\x00",
            "",
            "#a",
            "-a",
            "-oProxyCommand=id",
            "a;id",
            "$(id)",
        ],
        *["`id`", "a'b", 'a"b', "a\\b", "a=b", "a,b", "a/b", "a@b", "bücher", "a:2", "[::1]"],
        *["::1%$(id)", "1:2:3"],
    ],
)
def test_names_that_are_none(name: str, odd: str) -> None:
    error = refusal(name, [Host("good", "10.0.0.1"), Host(odd, "10.0.0.2")])
    assert str(error) == f"{LAUNCHERS[name]} cannot take {odd!r}, which is no host name"
    assert error.hint


@pytest.mark.parametrize("name", FORMATS)
def test_no_host(name: str) -> None:
    assert str(refusal(name, [])) == f"{LAUNCHERS[name]} needs at least one host"


@pytest.mark.parametrize("name", ["openmpi", "openmpi-rankfile", "mpich"])
def test_ipv6(name: str) -> None:
    error = refusal(name, [Host("2001:db8::1", "2001:db8::1")])
    launcher = LAUNCHERS[name]
    assert str(error) == f"{launcher} cannot take '2001:db8::1', which is an IPv6 address"


@pytest.mark.parametrize("name", OPEN_MPI)
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ("a_b", "has more than letters, digits, dots and hyphens"),
        (".a", "has more than letters, digits, dots and hyphens"),
        ("007", "is a number to it"),
        ("slots", "is a word of its hostfiles"),
        ("rank", "is a word of its hostfiles"),
        ("max-slots", "is a word of its hostfiles"),
        ("good.other.org", "is also 'good.example.org' once both are cut at the dot"),
        ("good", "is also 'good.example.org' once both are cut at the dot"),
    ],
)
def test_names_that_open_mpi_reads_otherwise(name: str, odd: str, reason: str) -> None:
    error = refusal(name, [Host("good.example.org", "10.0.0.1"), Host(odd, "10.0.0.2")])
    assert str(error) == f"Open MPI cannot take {odd!r}, which {reason}"


@pytest.mark.parametrize("name", OPEN_MPI)
def test_addresses_are_not_cut_at_dots(name: str) -> None:
    hosts = [Host("10.0.0.1", "10.0.0.1"), Host("10.0.0.2", "10.0.0.2")]
    assert "10.0.0.2" in FORMATS[name].render(hosts)


@pytest.mark.parametrize("name", ["torchrun", "env"])
@pytest.mark.parametrize("address", ["$(id)", "10.0.0.1;id", "a b", "-x", "fe80::1%eth0"])
def test_an_address_that_is_none_never_reaches_a_shell(name: str, address: str) -> None:
    hosts = [Host("a", address), Host("b", "10.0.0.2")]
    message = f"{LAUNCHERS[name]} cannot reach rank 0 at {address!r}, which is no address"
    assert str(refusal(name, hosts)) == message
    # Of another host only the interface is looked up, and only for an address.
    assert address not in FORMATS[name].render(hosts[::-1])


def test_long_names_are_cut_in_the_message() -> None:
    assert len(str(refusal("hosts", [Host("x " * 500, "10.0.0.1")]))) < 120


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_name_and_address_make_plain_words_or_an_error(host: str, address: str) -> None:
    for found in FORMATS.values():
        try:
            text = found.render([Host(host, address)])
        except WrongUseError:
            continue
        plain = text.replace("$(ip -o addr show to ", "").replace(" | cut -d' ' -f2)", "")
        assert not set(plain) & set("$`;|&<>()'\"\\*?~#!{}")
        assert text.isascii()
