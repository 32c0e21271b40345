"""Traffic addresses of one family, where there is one."""

import ipaddress

import pytest

from plink.probes.errors import OptionError
from plink.probes.facts import parse_hostname
from plink.probes.hosts.address import Candidates, choose_addresses


def host(ssh_address: str, addresses: str) -> Candidates:
    return Candidates(parse_hostname(addresses), ssh_address)


V4 = host("10.0.0.1", "10.0.0.1")
BOTH_BY_4 = host("10.0.0.2", "10.0.0.2 2001:db8::2")
BOTH_BY_6 = host("2001:db8::3", "10.0.0.3 2001:db8::3")
V6 = host("2001:db8::4", "2001:db8::4")


def test_one_family_stays_as_it_is() -> None:
    assert choose_addresses({"a": V4, "b": BOTH_BY_4})[0] == {"a": "10.0.0.1", "b": "10.0.0.2"}
    assert choose_addresses({"a": V6, "b": BOTH_BY_6})[0] == {
        "a": "2001:db8::4",
        "b": "2001:db8::3",
    }


def test_the_common_family_is_taken() -> None:
    assert choose_addresses({"a": V4, "b": BOTH_BY_6})[0] == {"a": "10.0.0.1", "b": "10.0.0.3"}
    assert choose_addresses({"a": V6, "b": BOTH_BY_4})[0] == {
        "a": "2001:db8::4",
        "b": "2001:db8::2",
    }
    assert choose_addresses({"a": BOTH_BY_6, "b": BOTH_BY_4})[0] == {
        "a": "10.0.0.3",
        "b": "10.0.0.2",
    }


def test_without_a_common_family() -> None:
    with pytest.raises(OptionError, match=r"10\.0\.0\.1 of a, 2001:db8::4 of b") as caught:
        choose_addresses({"a": V4, "b": V6})
    assert "network" in str(caught.value.hint)


def test_a_host_that_has_no_address_does_not_decide() -> None:
    chosen, failures = choose_addresses({"a": V4, "b": host("x", ""), "c": BOTH_BY_6})
    assert chosen == {"a": "10.0.0.1", "c": "10.0.0.3"}
    assert [error.host for error in failures] == ["b"]


def test_a_network_is_of_one_family() -> None:
    network = ipaddress.ip_network("2001:db8::/64")
    chosen, failures = choose_addresses({"a": V4, "b": BOTH_BY_4, "c": V6}, network)
    assert chosen == {"b": "2001:db8::2", "c": "2001:db8::4"}
    assert [error.host for error in failures] == ["a"]
