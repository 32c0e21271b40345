"""The agent that decides has the hosts measured that are new, by the agents themselves.

Every host's agent runs an echo agent and connects it to this one, which conducts the measurement as
`plink probe` does over SSH.
"""

from __future__ import annotations

import platform
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import numpy as np

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.base.text import counted
from plink.files.cluster import Cluster
from plink.measure.probing.request import ProbeRequest, resumed
from plink.measure.probing.run import measure_pairs
from plink.probes import facts
from plink.probes.errors import ProbesError
from plink.probes.facts import HostFacts
from plink.probes.hosts.address import Candidates, choose_addresses, is_address
from plink.probes.hosts.host import ListedHost
from plink.probes.reach import Reached, ReachedHost
from plink.torchrun.echoing import HANDSHAKE_S, Door, admit, take_part
from plink.torchrun.lines import LineSession
from plink.torchrun.members import Member
from plink.transport import door as limiter
from plink.transport.frames import ProtocolError

_ALL_WITHIN_S = 15.0
# How often to look whether all agents have proven themselves.
_ACCEPT_S = 0.05
_BACKLOG = 1024


def is_lacking(members: Sequence[Member], names: Sequence[str], cluster: Cluster | None) -> bool:
    """Whether a host has not been measured with most of the others, or not at this address.

    Args:
        members: of the round, by their numbers.
        names: of their hosts.
        cluster: what is known.
    """
    here = list(dict.fromkeys(names))
    if len(here) < 2:
        return False
    places = {} if cluster is None else {name: i for i, name in enumerate(cluster.names)}
    if cluster is None or cluster.rtt is None or not set(here) <= places.keys():
        return True
    for member, name in zip(members, names, strict=True):
        address = cluster.hosts[places[name]].address
        if member.addresses and is_address(address) and address not in member.addresses:
            return True
    indices = [places[name] for name in here]
    samples = cluster.rtt.samples[np.ix_(indices, indices)]
    partners = ((samples + samples.T) > 0).sum(axis=1)
    return bool((2 * partners < len(here) - 1).any())


def measured(
    members: Sequence[Member],
    names: Sequence[str],
    earlier: Cluster | None,
    *,
    tell: Callable[[Door], None],
    say: Callable[[str], None],
) -> Cluster:
    """What is known of the hosts' distances once those that are lacking were measured.

    Args:
        members: of the round, by their numbers, of which this agent has 0.
        names: of their hosts.
        earlier: what is known.
        tell: tells the other agents where the door is.
        say: tells the user.

    Raises:
        PlinkError: nothing could be measured.
    """
    first_on = {name: number for number, name in reversed(list(enumerate(names)))}
    addresses = _addresses(members, first_on)
    if members[0].master_address not in addresses.values():
        addresses.setdefault(names[0], members[0].master_address)
    with _calls(len(members), addresses.get(names[0], ""), tell) as connections:
        hosts = [
            _reached(name, members[number], addresses[name], connections[number])
            for name, number in first_on.items()
            if name in addresses and number in connections
        ]
        if len(hosts) < 2:
            raise PlinkError("fewer than two hosts can be measured, which say no order")
        listed = [host.listed for host in hosts]
        present = {host.name for host in listed}
        before = () if earlier is None else earlier.hosts
        listed = [*(ListedHost(host.name) for host in before if host.name not in present), *listed]
        how = resumed(earlier, "what was measured", "echo", {})
        request = ProbeRequest(listed, earlier=earlier, **vars(how))
        reached = Reached(cast("Any", None), hosts)
        try:
            result = measure_pairs(request, reached, _Telling(say))
        except ProbesError as error:
            raise PlinkError(str(error), error.hint) from None
    say(
        f"{counted(len(hosts), 'host')} measured by their agents, {result.how}, "
        f"{result.measured} of {result.asked} directed pairs"
    )
    return result.cluster


class _Telling:
    """Progress of which the user is told what there is to know."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def stage(self, name: str, total: int) -> None:
        """Nothing is shown."""

    def step(self) -> None:
        """Nothing is shown."""


def _addresses(members: Sequence[Member], first_on: Mapping[str, int]) -> dict[str, str]:
    """The traffic address of each host that has one."""
    known: dict[str, Candidates] = {}
    found: dict[str, str] = {}
    for name, number in first_on.items():
        member = members[number]
        own = facts.parse(member.facts)
        if _is_loopback(member.master_address) or own is None:
            found[name] = member.master_address
        else:
            known[name] = Candidates(own.addresses, member.master_address)
    try:
        return {**found, **choose_addresses(known)[0]}
    except ProbesError as error:
        raise PlinkError(str(error), error.hint) from None


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "localhost")


def _reached(name: str, member: Member, address: str, connection: socket.socket) -> ReachedHost:
    known = facts.parse(member.facts) or HostFacts("", "", 1, ())
    # Each host has the echo agent of its own installation.
    known = replace(known, architecture=platform.machine())
    session = LineSession(name, member.master_address, connection)
    return ReachedHost(ListedHost(name), session, known, address)


@contextmanager
def _calls(
    agents: int, address: str, tell: Callable[[Door], None]
) -> Iterator[dict[int, socket.socket]]:
    """The connections of the agents by their numbers; all hang up at the end."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server(
        (address if is_address(address) else "", 0), family=family, backlog=_BACKLOG
    ) as server:
        door = Door(address or "localhost", server.getsockname()[1], secrets.token_hex(16))
        tell(door)
        own = threading.Thread(target=take_part, args=(door, 0), daemon=True)
        own.start()
        callers = _Callers(door.secret, agents)
        deadline = time.monotonic() + _ALL_WITHIN_S
        try:
            while len(callers.admitted) < agents and time.monotonic() < deadline:
                server.settimeout(_ACCEPT_S)
                with suppress(TimeoutError):
                    callers.enter(*server.accept())
            yield callers.close()
        finally:
            for connection in callers.close().values():
                LineSession("", "", connection).close()
            own.join(HANDSHAKE_S)


class _Callers:
    """Connections at the measuring port, each of which proves itself in a thread of its own.

    Args:
        secret: of the round.
        agents: how many are expected.
    """

    def __init__(self, secret: str, agents: int) -> None:
        self._secret = secret
        self._agents = agents
        self._limiter = limiter.Door(limiter.most_strangers(agents))
        self._lock = threading.Lock()
        self._is_closed = False
        self.admitted: dict[int, socket.socket] = {}

    def enter(self, connection: socket.socket, address: tuple[Any, ...]) -> None:
        """Let a caller prove itself; where too many try, the oldest stranger is cut off."""
        with self._lock:
            source = limiter.source_of(str(address[0]))
            caller = self._limiter.enter(source, lambda: _hang_up(connection))
        threading.Thread(target=self._admit, args=(connection, caller), daemon=True).start()

    def close(self) -> dict[int, socket.socket]:
        """Admit nobody else. Return the agents' connections by their numbers."""
        with self._lock:
            self._is_closed = True
            return dict(self.admitted)

    def _admit(self, connection: socket.socket, caller: limiter.Caller) -> None:
        number = None
        try:
            number = admit(connection, self._secret, time.monotonic() + HANDSHAKE_S)
            connection.settimeout(None)
        except (OSError, ProtocolError):
            pass
        with self._lock:
            self._limiter.left(caller)
            is_open = not self._is_closed and number not in self.admitted
            if number is not None and number < self._agents and is_open:
                self.admitted[number] = connection
                return
        connection.close()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
