"""Request for a probe run, new or resumed, and the connections to its hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from plink.base.errors import PlinkError, WrongUseError
from plink.base.progress import ProgressListener
from plink.formats.cluster import Cluster
from plink.formats.measurements import FollowedSample, Measurement, RttMeasurement, find_sample
from plink.measure.probing.tools import FOLLOWED_ROUNDS, TOOLS, build_option_changed_error
from plink.probes.errors import HostError
from plink.probes.hosts.address import IPNetwork
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import STANDARD_PERCENTILES, EchoOptions, SshOptions, ToolOptions
from plink.probes.reach import Reached, Way, reach
from plink.probes.samples import no_limit


@dataclass(frozen=True)
class ProbeRequest:
    """Request for a probe run: hosts, tool, options and the earlier file, if any.

    Args:
        made_from: the hash of the host list.
        options: options of the tool that measures, and so which tool that is.
        timeout_s: seconds of silence after which a host is given up.
        rounds: rounds of the tournament, at least 2; `FOLLOWED_ROUNDS` for pairs that the readings
            ask for; None for all.
        seed: decides which rounds, where not all are asked for, and in what order pairs meet again.
        concurrency: pairs in flight; None to choose by what the hosts share.
        strict: stop when a host cannot be reached, instead of going on without it.
        network, interface: which of a host's addresses to use, where it has several.
        earlier: a cluster of which only the missing pairs are measured, or None. What it holds of
            other quantities is kept.
        left_s: returns the seconds that are left for transfers; called by any thread.
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
    way: Way = field(default_factory=SshOptions)
    earlier: Cluster | None = None
    left_s: Callable[[], float] = no_limit

    def __post_init__(self) -> None:
        check = TOOLS[self.tool].check
        if check is not None:
            check(self.options, self.hosts)

    @property
    def tool(self) -> str:
        """Name of the measuring tool."""
        return self.options.tool

    def recorded_addresses(self) -> dict[str, Any]:
        """Return how the hosts' addresses were chosen, as the cluster file records it."""
        return {
            **({"network": str(self.network)} if self.network else {}),
            **({"interface": self.interface} if self.interface else {}),
        }


@dataclass(frozen=True)
class ResumedSettings:
    """Settings that a resumed run takes over from the earlier run's file."""

    options: ToolOptions
    network: IPNetwork | None
    interface: str | None
    rounds: int | None
    seed: int


def resume_options(
    earlier: Cluster | None,
    source: str,
    tool: str,
    given: Mapping[str, Any],
    *,
    network: IPNetwork | None = None,
    interface: str | None = None,
    rounds: int | None = None,
    seed: int | None = None,
) -> ResumedSettings:
    """Return the settings that continue an earlier measurement, or those of a new one.

    Args:
        earlier: the cluster that was measured; None to begin.

    Raises:
        WrongUseError: it was measured in another way.
    """
    measuring = TOOLS[tool]
    if earlier is None:
        return ResumedSettings(measuring.options(**given), network, interface, rounds, seed or 0)
    before = _find_earlier(earlier, source, tool)
    if isinstance(before, RttMeasurement):
        given = {"percentile": before.reading, **given}
        percentile, read = given["percentile"], before.reading
        if read != percentile or set(before.rtt_us) != {*STANDARD_PERCENTILES, percentile}:
            raise WrongUseError(
                f"{source}: was measured at percentile {read:g}, not {percentile:g}",
                f"use {{percentile={read:g}}}, or write a new measurement to another file",
                arguments={"percentile": percentile},
            )
    chosen = (
        measuring.options(**given)
        if before is None
        else measuring.resume(given, before.options, source)
    )
    # Hosts at other addresses than before would count as moved, and lose what is known of them.
    others = (earlier.rtt, earlier.bandwidth, earlier.routes, earlier.uplinks)
    known = before or next((other for other in others if other is not None), None)
    if known is None:
        return ResumedSettings(chosen, network, interface, rounds, seed or 0)
    rounds, seed = keep_sample(known, rounds, seed, source)
    return ResumedSettings(
        chosen,
        keep_network(known.options, network, source),
        keep_interface(known.options, interface, source),
        rounds,
        seed or 0,
    )


def _find_earlier(earlier: Cluster, source: str, tool: str) -> Measurement | None:
    """Return the measurement to continue, or None where the file has none of this quantity."""
    quantity = TOOLS[tool].quantity
    if quantity == "uplinks":
        return earlier.uplinks
    measurement = earlier.find_measurement(quantity)
    if measurement is not None and measurement.tool != tool:
        hint = "write a new measurement to another file"
        if measurement.tool in TOOLS:
            hint = f"use {{tool={measurement.tool}}}, or {hint}"
        raise WrongUseError(
            f"{source}: was measured with {measurement.tool}, not {tool}",
            hint,
            arguments={"tool": tool},
        )
    return measurement


def keep_network(
    options: Mapping[str, Any], given: IPNetwork | None, source: str
) -> IPNetwork | None:
    """Return the network from which an earlier measurement took its addresses, or None.

    Raises:
        WrongUseError: another one is `given`, or the recorded one is not valid.
    """
    recorded = options.get("network")
    try:
        network = None if recorded is None else ipaddress.ip_network(str(recorded))
    except ValueError:
        raise WrongUseError(f"{source}: options.network is not a network") from None
    if given is not None and given != network:
        raise build_option_changed_error(source, "network", network, given)
    return network


def keep_interface(options: Mapping[str, Any], given: str | None, source: str) -> str | None:
    """Return the interface from which an earlier measurement took its addresses, or None.

    Raises:
        WrongUseError: another one is `given`, or the recorded one is not valid.
    """
    recorded = options.get("interface")
    if recorded is not None and not isinstance(recorded, str):
        raise WrongUseError(f"{source}: options.interface is not a name")
    if given is not None and given != recorded:
        raise build_option_changed_error(source, "interface", recorded, given)
    return recorded


def keep_sample(
    before: Measurement, rounds: int | None, seed: int | None, source: str
) -> tuple[int | None, int | None]:
    """Return the given `rounds` and `seed`, else those of the earlier measurement.

    More rounds of the same seed begin with those that were gone through.

    Raises:
        WrongUseError: another seed is given than the one recorded.
    """
    sample = find_sample(before.options)
    if sample is None:
        return rounds, seed
    if seed not in (None, sample.seed):
        raise build_option_changed_error(source, "seed", sample.seed, seed)
    if rounds is None:
        rounds = FOLLOWED_ROUNDS if isinstance(sample, FollowedSample) else sample.rounds
    return rounds, sample.seed


class TooFewReachedError(PlinkError):
    """Error that fewer than two hosts were reached; `failures` says why."""

    def __init__(self, failures: Sequence[HostError]) -> None:
        hint, options = next(
            ((error.marked_hint, error.options) for error in failures if error.hint), (None, ())
        )
        super().__init__(
            "fewer than two hosts can be reached", hint, arguments=dict.fromkeys(options)
        )
        self.failures = failures


@contextmanager
def connect_hosts(request: ProbeRequest, progress: ProgressListener) -> Iterator[Reached]:
    """Connect to the hosts of a request, at least two; the context's end disconnects.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        TooFewReachedError: fewer than two hosts can be reached.
        PlinkError: one cannot, and the run is strict.
    """
    progress.stage("connecting", len(request.hosts))
    with reach(
        request.hosts,
        request.way,
        network=request.network,
        interface=request.interface,
        on_done=progress.step,
    ) as reached:
        if reached.failures and request.strict:
            first = reached.failures[0]
            raise PlinkError(
                f"{first.host}: {first}",
                first.marked_hint or "without {strict} the run continues with the other hosts",
                arguments=dict.fromkeys([*first.options, "strict"]),
            )
        if len(reached.hosts) < 2:
            raise TooFewReachedError(reached.failures)
        yield reached
