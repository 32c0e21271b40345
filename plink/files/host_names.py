"""Names and addresses of hosts in files, which end up in commands: checked as host lists are."""

from __future__ import annotations

from collections.abc import Iterable

from plink.base.text import brief
from plink.files.hosts import Host
from plink.files.structs import FormatError
from plink.probes.hosts.names import HINT_NAME, fault_of_name


def check_host_names(hosts: Iterable[Host], source: str, place: str = "hosts") -> None:
    """Refuse hosts of a file whose names or addresses SSH or a shell might misread.

    Args:
        hosts: hosts that were read.
        source: what messages call the file.
        place: member of the file that lists them.

    Raises:
        FormatError: naming the first such host.
    """
    for index, host in enumerate(hosts):
        for member in ("name", "address", "ssh_address"):
            value = getattr(host, member)
            if value is not None:
                check_host_name(value, source, f"{place}[{index}].{member}")


def check_host_name(name: str, source: str, place: str) -> None:
    """Refuse a name or an address of a host that SSH or a shell might misread.

    Raises:
        FormatError: saying why `name` is none; `source` and `place` say where it stands.
    """
    fault = fault_of_name(name)
    if fault is not None:
        raise FormatError(source, place, f"{brief(name)} {fault}", HINT_NAME)
