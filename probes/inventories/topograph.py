"""Hosts from a topograph server (`topograph:URL`) or its saved output (`topograph:FILE`).

topograph's API: `GET /v1/topology?uid=ID` answers 200 with the topology, and 202 while it is being
discovered; ID is what `POST /v1/generate` answered.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from http import HTTPStatus
from http.client import HTTPException

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.hostlist import ListedHost, check_hosts
from plink.probes.hosts.listing import parse_listing_json
from plink.probes.inventories.inventory import TIMEOUT_S, InventoryHosts, ReadFile
from plink.probes.inventories.topologies import Topology, parse_topology

FORM = "topograph:URL_OR_FILE"
PREFIX = "topograph:"
_HINT = "write topograph:http://localhost:49021/v1/topology?uid=ID, or topograph:FILE"
_MOST_BYTES = 64 << 20
_PAUSE_S = 1.0


def read(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return all hosts of topograph's topology, in order of switches."""
    topology, content = read_topology(where, read_file)
    hosts = [ListedHost(name, place=topology.source) for name in topology.paths]
    return InventoryHosts(check_hosts(hosts, topology.source), content=content)


def read_topology(where: str, read_file: ReadFile) -> tuple[Topology, bytes]:
    """Return the topology of a topograph server or file, and the bytes it was parsed from.

    Raises:
        HostListError: the server does not answer, or with something else.
    """
    place = clean(f"{PREFIX}{where}")
    is_url = where.startswith(("http://", "https://"))
    content = _fetch_topology(where, place) if is_url else read_file(where)
    topology = parse_topology(content, place)
    if topology is None:
        if content.lstrip().startswith((b"{", b"[")):
            parse_listing_json(content, place, _HINT)
        raise HostListError(f"{place}: is not a topology in a format that plink knows", _HINT)
    return topology, content


def _fetch_topology(url: str, place: str) -> bytes:
    """Fetch a topology from a topograph server, polling for up to 60 s until it is complete."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                status: int = answer.status
                content: bytes = answer.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            text = clean(error.read(1000).decode(errors="replace").strip() or str(error.reason))
            raise HostListError(
                f"{place}: the server answers {error.code}: {text}", _HINT
            ) from None
        except (OSError, ValueError, HTTPException) as error:
            reason = clean(str(getattr(error, "reason", error)))
            raise HostListError(
                f"{place}: the server cannot be reached ({reason})", _HINT
            ) from None
        if len(content) > _MOST_BYTES:
            raise HostListError(
                f"{place}: the server's answer is larger than {_MOST_BYTES >> 20} MiB"
            )
        if status != HTTPStatus.ACCEPTED:
            return content
        if time.monotonic() > deadline:
            message = f"{place}: the server has no topology after {TIMEOUT_S:g} s"
            raise HostListError(message, "try again later")
        time.sleep(_PAUSE_S)
