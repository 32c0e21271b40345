"""Connection to the hosts of a run: sessions, facts about hosts, and addresses for traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from plink.probes import facts
from plink.probes.calls.listener import CallOpener, Listener
from plink.probes.errors import HostError, OptionError
from plink.probes.facts import HostFacts
from plink.probes.hosts.address import Candidates, IPNetwork, choose_addresses
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import ListenOptions, SshOptions, ViaOptions
from plink.probes.remote.session import Opener, Session, for_each
from plink.probes.ssh.connect import SshOpener
from plink.probes.via import ViaOpener

# How hosts are reached by us, and how in any case.
Outgoing = SshOptions | ViaOptions
Way = Outgoing | ListenOptions | Listener


@dataclass(frozen=True)
class ReachedHost:
    """Reached host of a run: its open session, its facts and its address for traffic.

    Args:
        address: the address that traffic to it uses.
    """

    listed: ListedHost
    session: Session
    facts: HostFacts
    address: str

    @property
    def name(self) -> str:
        """Name of the host in the host list."""
        return self.listed.name


@dataclass
class Reached:
    """Hosts of a run that were reached, and those that were not, in list order.

    A context manager: leaving it closes every session.
    """

    opener: Opener
    hosts: list[ReachedHost] = field(default_factory=list)
    failures: list[HostError] = field(default_factory=list)

    def __enter__(self) -> Reached:
        return self

    def __exit__(self, *_: object) -> None:
        self.opener.close()


def _build_opener(way: Way) -> Opener:
    match way:
        case SshOptions():
            return SshOpener(way)
        case ViaOptions():
            return ViaOpener(way)
        case ListenOptions():
            return CallOpener(Listener(way), way.wait_s)
        case Listener():
            return CallOpener(way, wait_s=0.0)


def reach(
    listed: Sequence[ListedHost],
    way: Way,
    *,
    network: IPNetwork | None = None,
    interface: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Reached:
    """Open a session to each host and ask for its facts; hosts that fail are kept as failures.

    Raises:
        HostListError, OptionError: as `Opener.prepare`, or two names that are the same machine, or
            addresses of two families.
    """
    reached = Reached(_build_opener(way))
    by_name = {host.name: host for host in listed}
    try:
        reached.opener.prepare(listed)
        asked = _open_all(reached, listed, way.concurrency, on_done)
        candidates = {
            name: Candidates(known.addresses, session.address)
            for name, (session, known) in asked.items()
        }
        addresses, unfit = choose_addresses(candidates, network, interface)
        reached.failures += unfit
        for name, (session, known) in asked.items():
            if name in addresses:
                host = ReachedHost(by_name[name], session, known, addresses[name])
                reached.hosts.append(host)
            else:
                session.close()
        _refuse_shared_addresses(reached.hosts)
    except BaseException:
        reached.opener.close()
        raise
    order = {host.name: place for place, host in enumerate(listed)}
    reached.failures.sort(key=lambda error: order[error.host])
    return reached


def _open_all(
    reached: Reached,
    listed: Sequence[ListedHost],
    concurrency: int,
    on_done: Callable[[], None],
) -> dict[str, tuple[Session, HostFacts]]:
    """Open a session to every host and ask for its facts; failures go to `reached.failures`."""

    def open_and_ask(host: ListedHost) -> tuple[Session, HostFacts]:
        session = reached.opener.open(host)
        return session, facts.ask(session)

    asked: dict[str, tuple[Session, HostFacts]] = {}
    for host, outcome in for_each(open_and_ask, listed, concurrency):
        if isinstance(outcome, HostError):
            reached.failures.append(outcome)
        else:
            asked[host.name] = outcome
        on_done()
    return {host.name: asked[host.name] for host in listed if host.name in asked}


def _refuse_shared_addresses(hosts: Sequence[ReachedHost]) -> None:
    seen: dict[str, ReachedHost] = {}
    for host in hosts:
        other = seen.setdefault(host.address, host)
        if other is not host:
            one, two = (
                f"{each.name} ({each.listed.place})" if each.listed.place else each.name
                for each in (other, host)
            )
            raise OptionError(
                f"{one} and {two} both have the traffic address {host.address}",
                "list a machine once, or choose other addresses by a network or the name of an "
                "interface",
                ["network", "interface"],
            )
