"""What a run is asked to measure, and connections to its hosts for its length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from plink.base.errors import PlinkError
from plink.base.progress import Progress
from plink.files.cluster import Cluster
from plink.measure.probing.tools import TOOLS
from plink.measure.probing.tools.base import ToolOptions, no_limit
from plink.measure.probing.tools.round_trips import EchoOptions
from probes.errors import HostError
from probes.hosts.address import IPNetwork
from probes.hosts.host import ListedHost
from probes.reach import Reached, reach
from probes.ssh.options import SshOptions


@dataclass(frozen=True)
class ProbeRequest:
    """A probe run.

    Args:
        hosts: the hosts to measure.
        made_from: the hash of the host list.
        options: of the tool that measures, and so which tool that is.
        timeout_s: how long a host may be silent before it is given up.
        rounds: of the tournament, at least 2; `FOLLOWED_ROUNDS` for pairs that the readings ask
            for; None for all.
        seed: decides which rounds, where not all are asked for, and in what order pairs meet again.
        concurrency: pairs in flight; None to choose by what the hosts share.
        strict: stop when a host cannot be reached, instead of going on without it.
        network, interface: which of a host's addresses to use, where it has several.
        ssh: how hosts are reached.
        earlier: a cluster of which only the missing pairs are measured, or None. What it holds of
            other quantities is kept.
        left_s: how many seconds are left for transfers, asked by any thread.
    """

    hosts: Sequence[ListedHost]
    made_from: str | None = None
    options: ToolOptions = field(default_factory=EchoOptions)
    timeout_s: float = 2.0
    rounds: int | None = None
    seed: int = 0
    concurrency: int | None = None
    strict: bool = False
    network: IPNetwork | None = None
    interface: str | None = None
    ssh: SshOptions = field(default_factory=SshOptions)
    earlier: Cluster | None = None
    left_s: Callable[[], float] = no_limit

    def __post_init__(self) -> None:
        check = TOOLS[self.tool].check
        if check is not None:
            check(self.options, self.hosts)

    @property
    def tool(self) -> str:
        """The name of the tool that measures."""
        return self.options.tool

    def recorded_addresses(self) -> dict[str, Any]:
        """What a cluster file records of how the hosts' addresses were chosen."""
        return {
            **({"network": str(self.network)} if self.network else {}),
            **({"interface": self.interface} if self.interface else {}),
        }


class TooFewReachedError(PlinkError):
    """There are no two hosts to measure between. `failures` says why."""

    def __init__(self, failures: Sequence[HostError]) -> None:
        hint = next((error.hint for error in failures if error.hint), None)
        super().__init__("fewer than two hosts can be reached", hint)
        self.failures = failures


@contextmanager
def connected(request: ProbeRequest, progress: Progress) -> Iterator[Reached]:
    """Reach the hosts of a request, two at least; leaving closes every connection.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        TooFewReachedError: fewer than two hosts can be reached.
        PlinkError: one cannot, and the run is strict.
    """
    progress.stage("connecting", len(request.hosts))
    with reach(
        request.hosts,
        request.ssh,
        network=request.network,
        interface=request.interface,
        on_done=progress.step,
    ) as reached:
        if reached.failures and request.strict:
            first = reached.failures[0]
            hint = first.hint or "a run that is not strict goes on without it"
            raise PlinkError(f"{first.host}: {first}", hint)
        if len(reached.hosts) < 2:
            raise TooFewReachedError(reached.failures)
        yield reached
