"""The interface that Gloo binds to, which plink knows only by its address."""

from __future__ import annotations

from plink.deploy.launchers.names import is_address
from plink.files.cluster import Host


def socket_interface(host: Host) -> str:
    """A shell assignment that `host` itself completes, or nothing where it has no address.

    Gloo takes an interface, never an address, and without one it takes whatever the host's own
    name resolves to: on Debian often loopback. Where `ip` is missing the value is empty, which
    Gloo takes for unset.
    """
    if not is_address(host.address):
        return ""
    return f"GLOO_SOCKET_IFNAME=$(ip -o addr show to {host.address} | cut -d' ' -f2)"
