"""Resolution by the real resolver: addresses, this machine's own name, and names that are none."""

from __future__ import annotations

import pytest

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.connect import SshOpener

# No configuration.
OPTIONS = SshOptions(config_file="/dev/null")


@pytest.mark.parametrize("name", ["10.0.0.7", "2001:db8::1", "::1", "localhost"])
def test_what_has_an_address(name: str) -> None:
    SshOpener(OPTIONS).prepare([ListedHost(name, place="h.txt:1")])


def test_an_unresolvable_name_is_named_with_its_line() -> None:
    # RFC 6761: no name below .invalid exists.
    name = "gpu1.invalid"
    with pytest.raises(HostListError) as caught:
        SshOpener(OPTIONS).prepare([ListedHost("n", connect_to=name, place="h.txt:7")])
    assert str(caught.value).startswith(f"h.txt:7: {name} cannot be resolved")
    assert caught.value.hint


@pytest.mark.parametrize("address", ["a..b", "x" * 70, "$(id)", "-oProxyCommand=x"])
def test_an_address_that_is_none_goes_to_no_program(address: str) -> None:
    with pytest.raises(HostListError) as caught:
        SshOpener(OPTIONS).prepare([ListedHost("n", connect_to=address, place="h.txt:7")])
    assert str(caught.value).startswith("h.txt:7: ")
