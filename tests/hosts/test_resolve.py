"""Resolution by the real resolver: addresses, this machine's own name, and names that are none."""

from __future__ import annotations

import pytest

from probes.errors import HostListError
from probes.hosts.resolve import resolve


@pytest.mark.parametrize("address", ["10.0.0.7", "2001:db8::1", "::1"])
def test_an_address_is_its_own(address: str) -> None:
    assert resolve(address, "h.txt:1") == address


def test_ipv4_comes_first() -> None:
    assert resolve("localhost", "h.txt:1") == "127.0.0.1"


# RFC 6761: no name below .invalid exists. The last two are no names to the resolver at all.
@pytest.mark.parametrize("name", ["gpu1.invalid", "a..b", "x" * 70])
def test_an_unresolvable_name_is_named_with_its_line(name: str) -> None:
    with pytest.raises(HostListError) as caught:
        resolve(name, "h.txt:7")
    assert str(caught.value).startswith(f"h.txt:7: {name} cannot be resolved")
    assert caught.value.hint
