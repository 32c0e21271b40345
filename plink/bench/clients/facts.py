"""What a bench must know of each host before it starts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from plink.files.cluster import Host
from probes.errors import HostError
from probes.ssh.session import Session

Result = TypeVar("Result")

_UNKNOWN = "unknown"


@dataclass(frozen=True)
class HostFacts:
    """A host as it describes itself.

    Args:
        hostname: its own name, which need not be the name in the cluster file.
        congestion_control: the default of its TCP sockets (`cubic`, `bbr`, ...).
        boot_id: equal for hosts that share one kernel.
        interface: the network interface with the traffic address; empty where it cannot tell.
    """

    hostname: str
    congestion_control: str
    boot_id: str
    interface: str


def for_each(
    sessions: Sequence[Session], work: Callable[[int, Session], Result], at_once: int = 16
) -> list[Result]:
    """`work(i, session i)` for all, several at a time; results in the same sequence.

    Raises:
        HostError: the first that `work` raised.
    """
    with ThreadPoolExecutor(max_workers=at_once) as executor:
        return list(executor.map(work, range(len(sessions)), sessions))


def facts_of(hosts: Sequence[Host], sessions: Sequence[Session]) -> list[HostFacts]:
    """Ask every host.

    Raises:
        HostError: a host did not answer as expected.
    """
    return for_each(sessions, lambda index, session: _ask(session, hosts[index].address))


def _ask(session: Session, address: str) -> HostFacts:
    completed = session.run(
        "uname -n; for file in net/ipv4/tcp_congestion_control kernel/random/boot_id; do "
        f'cat "/proc/sys/$file" 2>/dev/null || echo {_UNKNOWN}; done; '
        f"ip -o address show to {shlex.quote(address)} 2>/dev/null"
    )
    lines = completed.stdout.decode(errors="replace").splitlines()
    if len(lines) < 3 or not lines[0].strip():
        raise HostError(session.host, f"did not say its name ({completed.stderr or 'no output'})")
    # `2: eth0    inet 10.0.0.1/24 ...`; a virtual link shows as `eth0@if7`.
    words = lines[3].split() if len(lines) > 3 else []
    return HostFacts(
        hostname=lines[0].strip(),
        congestion_control=lines[1].strip(),
        boot_id=lines[2].strip(),
        interface=words[1].split("@")[0] if len(words) > 1 else "",
    )
