"""Measurement of a job's hosts from inside the job.

One process of every host runs an echo agent and connects it to the process that decides, which
conducts the measurement as `plink probe` does over SSH, in rounds of disjoint pairs.
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

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_count, format_names
from plink.formats.cluster import Cluster
from plink.measure.drift.judge import build_baseline
from plink.measure.probing.check import build_check_request, check_reached, select_comparable_rtt
from plink.measure.probing.request import ProbeRequest, resume_options
from plink.measure.probing.run import measure_pairs
from plink.optimize.groups.finding import find_groups, with_groups
from plink.probes import facts
from plink.probes.errors import ProbesError
from plink.probes.facts import HostFacts
from plink.probes.hosts.address import Candidates, choose_addresses, is_address
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.reach import Reached, ReachedHost
from plink.renumber.agent_connections import LineSession
from plink.renumber.echo_agent import HANDSHAKE_S, MeasuringPort, admit, take_part
from plink.renumber.members import Member, select_leaders
from plink.transport import door as limiter
from plink.transport.frames import ProtocolError

_ALL_WITHIN_S = 15.0
# How often to look whether all agents have proven themselves.
_ACCEPT_S = 0.05
_BACKLOG = 1024
# A job waits for the measurement: pairs meet less often than `plink probe` lets them, and of more
# hosts not all pairs do (docs/sampling.md).
_PASSES = 2
_ECHOES = 50
_MOST_IN_FULL = 64
_ROUNDS = 32
_FEW_ROUNDS = 24
_CHECK_PARTNERS = 3
# Seconds of silence after which a host counts as lost.
_SILENT_S = 5.0
_MOST_NAMED = 16
_KEPT = "what was measured earlier"


def is_lacking(members: Sequence[Member], names: Sequence[str], cluster: Cluster | None) -> bool:
    """Return whether a cluster lacks a host, its address, or its readings with most others.

    Args:
        members: the processes by number.
        names: name of each one's host.
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
    partners = ((samples > 0) | (samples.T > 0)).sum(axis=1)
    return bool((2 * partners < min(len(here) - 1, _FEW_ROUNDS)).any())


def measured(
    members: Sequence[Member],
    names: Sequence[str],
    earlier: Cluster | None,
    *,
    tell: Callable[[MeasuringPort, Sequence[int]], None],
    say: Callable[[str], None],
    number: int = 0,
) -> Cluster:
    """Measure the hosts that `earlier` lacks and return a cluster with all round-trip times.

    Args:
        members: the processes by number.
        names: name of each one's host.
        earlier: what is known.
        tell: tells the other processes where to connect, and which of them are to.
        say: tells the user.
        number: of this process.

    Raises:
        PlinkError: nothing could be measured.
    """
    with connected_agents(members, names, tell=tell, number=number) as hosts:
        listed = [host.listed for host in hosts]
        present = {host.name for host in listed}
        before = () if earlier is None else earlier.hosts
        listed = [*(ListedHost(host.name) for host in before if host.name not in present), *listed]
        asked = {"passes": _PASSES} | ({"count": _ECHOES} if earlier is None else {})
        how = resume_options(earlier, "what was measured", "echo", asked)
        known = vars(how)
        if how.rounds is None and len(listed) > _MOST_IN_FULL:
            known = {**known, "rounds": _ROUNDS}
        request = ProbeRequest(listed, earlier=earlier, timeout_s=_SILENT_S, **known)
        began = time.monotonic()
        try:
            result = measure_pairs(request, Reached(cast("Any", None), hosts), _Telling(say))
        except ProbesError as error:
            raise PlinkError(str(error), error.hint) from None
    if not result.measured:
        raise PlinkError("no pair of hosts could be measured")
    say(
        f"{format_count(len(hosts), 'host')} measured from inside the job in "
        f"{time.monotonic() - began:.1f} s, {result.how}, "
        f"{result.measured} of {result.asked} directed pairs"
    )
    return result.cluster


def group_hosts(cluster: Cluster, say: Callable[[str], None]) -> Cluster:
    """Return the cluster with the groups that its round-trip times show, if any.

    Args:
        cluster: what was measured.
        say: tells the user.
    """
    began = time.monotonic()
    try:
        found = find_groups(cluster)
    except WrongUseError:
        # Too few hosts, or too many.
        return cluster
    sizes = [f"{group.name} ({len(group.hosts)})" for group in found.groups]
    say(
        f"{format_count(len(sizes), 'group') if sizes else 'no groups'} of hosts found in "
        f"{time.monotonic() - began:.1f} s"
        + (f": {format_names(sizes, _MOST_NAMED)}" if sizes else "")
    )
    return with_groups(cluster, found)


def still_holds(
    members: Sequence[Member],
    names: Sequence[str],
    cluster: Cluster,
    *,
    tell: Callable[[MeasuringPort, Sequence[int]], None],
    number: int = 0,
) -> bool:
    """Measure a few pairs again, and return whether the cluster still describes its network.

    Args:
        members: the processes by number, on all of the cluster's hosts.
        names: name of each one's host.
        cluster: what was measured earlier.
        tell: tells the other processes where to connect, and which of them are to.
        number: of this process.
    """
    file = build_baseline(select_comparable_rtt(cluster, _KEPT))
    request = build_check_request(
        cluster, _KEPT, {"passes": _PASSES}, timeout_s=_SILENT_S, way=SshOptions()
    )
    with connected_agents(members, names, tell=tell, number=number) as hosts:
        try:
            found = check_reached(
                cluster,
                file,
                request,
                Reached(cast("Any", None), hosts),
                partners=_CHECK_PARTNERS,
                progress=_Telling(lambda _: None),
            )
        except (PlinkError, ProbesError):
            return False
    return found.is_whole and not found.is_changed


@contextmanager
def connected_agents(
    members: Sequence[Member],
    names: Sequence[str],
    *,
    tell: Callable[[MeasuringPort, Sequence[int]], None],
    number: int = 0,
) -> Iterator[list[ReachedHost]]:
    """Connect an echo agent of every host and yield them; leaving the context ends them.

    Args:
        members: the processes by number.
        names: name of each one's host.
        tell: tells the other processes where to connect, and which of them are to.
        number: of this process.

    Raises:
        PlinkError: fewer than two hosts can be measured.
    """
    leaders = select_leaders(members, names)
    own = members[number]
    addresses = _addresses(members, leaders)
    if own.master_address not in addresses.values():
        addresses.setdefault(names[number], own.master_address)
    with _calls(
        list(leaders.values()), addresses.get(names[number], ""), tell, number
    ) as connections:
        hosts = [
            _reached(name, members[leader], addresses[name], connections[leader])
            for name, leader in leaders.items()
            if name in addresses and leader in connections
        ]
        if len(hosts) < 2:
            raise PlinkError("fewer than two hosts can be measured, which say no order")
        yield hosts


class _Telling:
    """Progress of a measurement that prints sentences, and shows neither stages nor steps."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say

    def stage(self, name: str, total: int) -> None:
        """Ignore the beginning of a stage."""

    def step(self) -> None:
        """Ignore the end of a step."""


def _addresses(members: Sequence[Member], first_on: Mapping[str, int]) -> dict[str, str]:
    """Choose the traffic address of each host that has one."""
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
    leaders: Sequence[int],
    address: str,
    tell: Callable[[MeasuringPort, Sequence[int]], None],
    number: int,
) -> Iterator[dict[int, socket.socket]]:
    """Yield the connections of the hosts' processes by number, and close them at the end."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server(
        (address if is_address(address) else "", 0), family=family, backlog=_BACKLOG
    ) as server:
        port = MeasuringPort(address or "localhost", server.getsockname()[1], secrets.token_hex(16))
        tell(port, leaders)
        own = threading.Thread(target=take_part, args=(port, number), daemon=True)
        if number in leaders:
            own.start()
        callers = _Callers(port.secret, leaders)
        deadline = time.monotonic() + _ALL_WITHIN_S
        try:
            while len(callers.admitted) < len(leaders) and time.monotonic() < deadline:
                server.settimeout(_ACCEPT_S)
                with suppress(TimeoutError):
                    callers.enter(*server.accept())
            yield callers.close()
        finally:
            for connection in callers.close().values():
                LineSession("", "", connection).close()
            if number in leaders:
                own.join(HANDSHAKE_S)


class _Callers:
    """Connections at the measuring port, each authenticated in a thread of its own.

    Args:
        secret: of the measurement.
        leaders: numbers of the processes that are expected.
    """

    def __init__(self, secret: str, leaders: Sequence[int]) -> None:
        self._secret = secret
        self._leaders = set(leaders)
        self._limiter = limiter.Door(limiter.most_strangers(len(leaders)))
        self._lock = threading.Lock()
        self._is_closed = False
        self.admitted: dict[int, socket.socket] = {}

    def enter(self, connection: socket.socket, address: tuple[Any, ...]) -> None:
        """Start to authenticate a caller; where too many try, the oldest stranger is cut off."""
        with self._lock:
            source = limiter.source_of(str(address[0]))
            caller = self._limiter.enter(source, lambda: _hang_up(connection))
        threading.Thread(target=self._admit, args=(connection, caller), daemon=True).start()

    def close(self) -> dict[int, socket.socket]:
        """Admit no further caller and return the agents' connections by number."""
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
            if number is not None and number in self._leaders and is_open:
                self.admitted[number] = connection
                return
        connection.close()


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
