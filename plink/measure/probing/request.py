"""Request for a probe run, new or resumed, and the settings and readings kept of an earlier one.

Values that are not allowed raise `WrongUseError`.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import asdict

from plink.base.errors import PlinkError, WrongUseError
from plink.base.given_way import GivenWay
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.base.text import brief
from plink.formats import measurements
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host, is_recordable
from plink.formats.limits import constrain_to_words
from plink.formats.structs import convert
from plink.measure.probing import tools
from plink.measure.probing.tools import FOLLOWED_ROUNDS, TOOLS, UplinkOptions
from plink.probes.errors import HostError
from plink.probes.hosts.address import IPNetwork, is_address
from plink.probes.hosts.hostlist import ListedHost, is_host_name
from plink.probes.options import (
    STANDARD_PERCENTILES,
    DpdkOptions,
    EchoOptions,
    Options,
    SshOptions,
    ToolOptions,
    ViaOptions,
    parse_nics,
)
from plink.probes.reach import Reached, ReachedHost, Way, reach
from plink.probes.samples import no_limit


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """Settings that a resumed probe run takes over from the earlier one.

    Args:
        options: options of the tool that measures, and so which tool that is.
        rounds: rounds of the tournament, at least 2; `FOLLOWED_ROUNDS` for pairs that the readings
            ask for; None for all.
        seed: decides which rounds, where not all are asked for, and in what order pairs meet again.
        network, interface: which of a host's addresses to use, where it has several.
    """

    options: ToolOptions = field(default_factory=EchoOptions)
    rounds: int | None = None
    seed: int = 0
    network: IPNetwork | None = None
    interface: str | None = None


@dataclass(frozen=True)
class ProbeRequest(ProbeSettings):
    """Request for a probe run: hosts, settings and the earlier file, if any.

    Args:
        timeout_s: seconds of silence after which a host is given up.
        concurrency: pairs in flight; None to choose by what the hosts share.
        earlier: a cluster of which only the missing pairs are measured, or None. What it holds of
            other quantities is kept.
        left_s: returns the seconds that are left for transfers; called by any thread.
    """

    hosts: Sequence[ListedHost]
    made_from: str | None = None
    timeout_s: float = 2.0
    concurrency: int | None = None
    strict: bool = False
    way: Way = field(default_factory=SshOptions)
    earlier: Cluster | None = None
    left_s: Callable[[], float] = no_limit

    def __post_init__(self) -> None:
        if isinstance(self.options, DpdkOptions):
            names = {host.name for host in self.hosts}
            for nic in self.options.nics:
                if nic.host not in names:
                    raise WrongUseError(f"nics: {nic.host} is not in the host list")
        if isinstance(self.options, UplinkOptions) and len(self.options.groups) < 2:
            found = ", ".join(group.name for group in self.options.groups) or "none"
            raise WrongUseError(
                f"measuring uplinks needs at least two groups of hosts, found {found}",
                "the uplink of a group is its connection to the hosts of other groups",
            )

    @property
    def tool(self) -> str:
        """Name of the measuring tool."""
        return self.options.tool

    def recorded_addresses(self) -> dict[str, Any]:
        """Return the options `network` and `interface`, if given, for the cluster file."""
        return {
            **({"network": str(self.network)} if self.network else {}),
            **({"interface": self.interface} if self.interface else {}),
        }


class _Recorded(Struct, frozen=True):
    """Options that a file records of a measurement, as far as a resumed one takes them over."""

    count: Annotated[int, Meta(ge=1, le=tools.MAX_COUNT)] | None = None
    passes: Annotated[int, Meta(ge=1, le=tools.MAX_PASSES)] | None = None
    precision_percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    nics: Sequence[str] = ()
    duration_s: Annotated[int, Meta(ge=1, le=tools.MAX_DURATION_S)] | None = None
    streams: Annotated[int, Meta(ge=1, le=tools.MAX_STREAMS)] | None = None
    direction: Annotated[str, constrain_to_words(*tools.DIRECTIONS)] | None = None
    congestion: Annotated[str, Meta(pattern=f"^{tools.CONGESTION}$(?!\n)")] | None = None
    network: str | None = None
    interface: str | None = None


def resume_tool(
    tool: type[Options], given: Mapping[str, Any], options: Mapping[str, Any], source: str
) -> Options:
    """Return a tool's options that continue an earlier measurement; raise if given ones differ.

    Args:
        given: the fields that were asked for now.
        options: the options of the earlier measurement, as its file has them.
        source: the name of that file, for errors.

    Raises:
        WrongUseError: the readings would not compare, or a recorded option is not valid.
        OptionError: a recorded NIC is not valid.
    """
    recorded = asdict(convert(options, _Recorded, f"{source}: options"))
    recorded["nics"] = parse_nics(recorded["nics"], f"{source}: options.nics")
    names = {each.name for each in fields(tool)}
    before = {
        name: recorded[name] for name in recorded.keys() & names if recorded[name] is not None
    }
    for name in tool.fixed:
        if name in given and given[name] != before.get(name):
            raise build_option_changed_error(source, name, before.get(name), given[name])
    if "nics" in given and given["nics"] != before["nics"]:
        raise WrongUseError(
            f"{source}: was measured with other NICs than those given now",
            "leave out the NICs, or write a new measurement to another file",
        )
    if "passes" in given:
        before["extra_passes"] = max(0, given["passes"] - before.get("passes", 1))
    return tool(**{**before, **given})


def build_option_changed_error(
    source: str, option: str, before: object, given: object
) -> WrongUseError:
    """Build the error that an option is given otherwise than the earlier measurement had it."""
    with_or_without_option = (
        f"without {{{option}}}" if before is None else f"with {{{option}={before}}}"
    )
    return WrongUseError(
        f"{source}: was measured {with_or_without_option}, not {given}",
        f"leave out {{{option}=}}, or write a new measurement to another file",
        arguments={option: given},
    )


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
) -> ProbeSettings:
    """Return the settings that continue an earlier run, or the given ones; raise on a conflict."""
    before = None if earlier is None else _find_earlier(earlier, source, tool)
    if isinstance(before, measurements.RttMeasurement):
        given = {"percentile": before.reading, **given}
        percentile, read = given["percentile"], before.reading
        if read != percentile or set(before.rtt_us) != {*STANDARD_PERCENTILES, percentile}:
            raise WrongUseError(
                f"{source}: was measured at percentile {read:g}, not {percentile:g}",
                f"use {{percentile={read:g}}}, or write a new measurement to another file",
                arguments={"percentile": percentile},
            )
    chosen = (
        TOOLS[tool](**given)
        if before is None
        else resume_tool(TOOLS[tool], given, before.options, source)
    )
    if earlier is not None:
        others = (earlier.rtt, earlier.bandwidth, earlier.routes, earlier.uplinks)
        known = before or next((other for other in others if other is not None), None)
        if known is not None:
            rounds, seed = keep_sample(known, rounds, seed, source)
            # Hosts at other addresses than before would count as moved, and lose what is known.
            network, interface = keep_addresses(known.options, network, interface, source)
    return ProbeSettings(
        options=chosen, rounds=rounds, seed=seed or 0, network=network, interface=interface
    )


def _find_earlier(earlier: Cluster, source: str, tool: str) -> measurements.Measurement | None:
    """Return the earlier measurement of a tool's quantity, or None; raise if of another tool."""
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


def keep_addresses(
    options: Mapping[str, Any], network: IPNetwork | None, interface: str | None, source: str
) -> tuple[IPNetwork | None, str | None]:
    """Return the network and the interface that an earlier run recorded, None for any.

    Raises:
        WrongUseError: a given one differs, or a recorded one is not valid.
    """
    recorded = convert(options, _Recorded, f"{source}: options")
    before = None
    if recorded.network is not None:
        try:
            before = ipaddress.ip_network(recorded.network)
        except ValueError:
            raise WrongUseError(
                f"{source}: options.network is {brief(recorded.network)}, expected a network such "
                "as 10.0.0.0/16"
            ) from None
    if network is not None and network != before:
        raise build_option_changed_error(source, "network", before, network)
    if interface is not None and interface != recorded.interface:
        raise build_option_changed_error(source, "interface", recorded.interface, interface)
    return before, recorded.interface


def keep_sample(
    before: measurements.Measurement, rounds: int | None, seed: int | None, source: str
) -> tuple[int | None, int | None]:
    """Return `rounds` and `seed` as given, else as recorded; raise if the seed differs.

    More rounds of the same seed begin with those that were gone through.
    """
    sample = measurements.find_sample(before.options)
    if sample is None:
        return rounds, seed
    if seed not in (None, sample.seed):
        raise build_option_changed_error(source, "seed", sample.seed, seed)
    if rounds is None:
        rounds = (
            FOLLOWED_ROUNDS if isinstance(sample, measurements.FollowedSample) else sample.rounds
        )
    return rounds, sample.seed


class TooFewReachedError(PlinkError):
    """Error that fewer than two hosts were reached; `failures` has the error of each host."""

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
    """Connect to the hosts of a request, at least two; disconnect when the context ends.

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
            failure = reached.failures[0]
            raise PlinkError(
                f"{failure.host}: {failure}",
                failure.marked_hint or "without {strict} the run continues with the other hosts",
                arguments=dict.fromkeys([*failure.options, "strict"]),
            )
        if len(reached.hosts) < 2:
            raise TooFewReachedError(reached.failures)
        yield reached


@dataclass(frozen=True)
class ResumeState:
    """Starting state of a run: its hosts with earlier readings, absent hosts, and moved hosts."""

    cluster: Cluster
    absent: Sequence[measurements.Failure]
    moves: Sequence[str]


def build_resume_state(request: ProbeRequest, reached: Reached) -> ResumeState:
    """Build a run's starting state: the earlier cluster, if any, with this run's hosts."""
    present = {host.name: _to_host(host) for host in reached.hosts}
    hosts = select_hosts(request.hosts, present, request.earlier)
    moved = find_moved_hosts(hosts, request.earlier)
    names = {host.name for host in hosts}
    cluster = replace(
        carry_over(hosts, request.earlier, moved),
        unreachable=_list_unreachable(request.hosts, reached, names),
        made_from=request.made_from,
        way=_way_as_given(request.way),
    )
    absent = [
        measurements.Failure(error.host, f"{error} (what was measured earlier is kept)")
        for error in reached.failures
        if error.host in names
    ]
    moves = [
        f"{host.name} had the address {moved[host.name]} and now has {host.address}: "
        "its earlier readings are dropped"
        for host in hosts
        if host.name in moved
    ]
    return ResumeState(cluster, absent, moves)


def _way_as_given(way: Way) -> GivenWay | None:
    """Return the SSH options or command template that reach the hosts, for the cluster file."""
    match way:
        case SshOptions():
            # Absolute, so that later commands find the files from any folder.
            config, identity = (
                None if path is None else os.path.abspath(path)  # noqa: PTH100  keeps links and `..`
                for path in (way.config_file, way.identity_file)
            )
            typed = {"config": config, "identity": identity, "user": way.user}
        case ViaOptions():
            typed = {"via": way.template}
        case _:
            return None
    given = GivenWay(**{name: text for name, text in typed.items() if is_recordable(text)})
    return given if given.words() else None


def _to_host(reached: ReachedHost) -> Host:
    """Return a reached host as a cluster file records it."""
    hostname = reached.session.hostname
    return Host(
        name=reached.name,
        address=reached.address,
        # The SSH configuration may call it what is no address but to its proxy command.
        ssh_address=hostname if hostname is not None and is_host_name(hostname) else None,
        user=reached.listed.user,
        port=reached.listed.port,
        slots=reached.listed.slots,
    )


def _list_unreachable(
    listed: Sequence[ListedHost], reached: Reached, kept: Container[str]
) -> list[Unreachable]:
    """Return the listed hosts that could not be reached now and have no earlier readings."""
    reasons = {error.host: str(error) for error in reached.failures if error.host not in kept}
    return [
        Unreachable(
            host.name,
            reasons[host.name],
            user=host.user,
            port=host.port,
            slots=host.slots,
            position=position,
        )
        for position, host in enumerate(listed)
        if host.name in reasons
    ]


def select_hosts(
    listed: Sequence[ListedHost], reached: Mapping[str, Host], earlier: Cluster | None
) -> list[Host]:
    """Return the hosts of the cluster to write, in list order: reached now, or measured earlier.

    A host that was not reached and whose address is another's now is not kept.
    """
    taken = {host.address for host in reached.values()}
    known = {} if earlier is None else {host.name: host for host in earlier.hosts}
    hosts = []
    for host in listed:
        if host.name in reached:
            hosts.append(reached[host.name])
        elif host.name in known and known[host.name].address not in taken:
            before = known[host.name]
            hosts.append(replace(before, user=host.user, port=host.port, slots=host.slots))
    return hosts


def find_moved_hosts(hosts: Sequence[Host], earlier: Cluster | None) -> dict[str, str]:
    """Return the earlier address of each host, by name, whose address has changed since.

    A host that has a name for an address, as those of an imported matrix, was never reached, so
    that nothing says that it moved.
    """
    known = () if earlier is None else earlier.hosts
    before = {host.name: host.address for host in known if is_address(host.address)}
    return {
        host.name: before[host.name]
        for host in hosts
        if before.get(host.name, host.address) != host.address
    }


def carry_over(hosts: Sequence[Host], earlier: Cluster | None, moved: Container[str]) -> Cluster:
    """Return a cluster of these hosts with an earlier cluster's readings, except of moved hosts.

    Args:
        moved: names of hosts of which nothing is kept: they are at other addresses now. Their
            groups stay, without what is known of their uplinks.
    """
    if earlier is None:
        return Cluster(hosts)
    domains = {host.name: host.domain for host in earlier.hosts}
    hosts = [replace(host, domain=host.domain or domains.get(host.name)) for host in hosts]
    before = {name: index for index, name in enumerate(earlier.names) if name not in moved}
    places = [before.get(host.name) for host in hosts]
    names = {host.name for host in hosts}
    groups = [group for group in earlier.groups if names.issuperset(group.hosts)]
    are_same = not any(name in moved for name in names) and names.issuperset(earlier.names)
    uplinks = earlier.uplinks
    if uplinks is not None:
        still = {group.name for group in groups if not any(name in moved for name in group.hosts)}
        uplinks = replace(
            uplinks,
            uplinks=[known for known in uplinks.uplinks if known.group in still],
            links=[link for link in uplinks.links if link.host in before.keys() & names],
        )
    return Cluster(
        hosts,
        rtt=None if earlier.rtt is None else earlier.rtt.for_hosts(places),
        bandwidth=None if earlier.bandwidth is None else earlier.bandwidth.for_hosts(places),
        routes=None if earlier.routes is None else earlier.routes.for_hosts(places),
        groups=groups,
        uplinks=uplinks,
        grouping=earlier.grouping if are_same else None,
    )


def restrict_to_hosts(cluster: Cluster, hosts: Sequence[Host]) -> Cluster:
    """Return the cluster restricted to these hosts, in this order, without groups left empty."""
    names = {host.name for host in hosts}
    groups = [
        replace(group, hosts=[name for name in group.hosts if name in names])
        for group in cluster.groups
    ]
    trimmed = replace(cluster, groups=[group for group in groups if group.hosts], grouping=None)
    return carry_over(hosts, trimmed, moved=())


def repeat_run_record(
    before: measurements.Measurement, sample: measurements.Sample | None, notes: Sequence[str]
) -> measurements.Measurement:
    """Return the record of an earlier run, for a run that had nothing left to measure."""
    return measurements.Measurement(
        tool=before.tool,
        options={
            **{
                name: value
                for name, value in before.options.items()
                if name not in measurements.SAMPLE_OPTIONS
            },
            **({} if sample is None else sample.to_options()),
        },
        started=before.started,
        seconds=before.seconds,
        notes=list(dict.fromkeys([*before.notes, *notes])),
    )


def refuse_to_drop(earlier: Cluster, listed: Sequence[ListedHost], hosts: str, resume: str) -> None:
    """Raise if a host list lacks hosts whose readings the earlier file would lose."""
    rtt, bandwidth, routes = earlier.rtt, earlier.bandwidth, earlier.routes
    matrices = [
        *([] if rtt is None else [rtt.readings_us]),
        *([] if bandwidth is None else [bandwidth.gbit_s]),
        *([] if routes is None else [routes.hops]),
    ]
    read = [~np.isnan(matrix).all(axis=axis) for matrix in matrices for axis in (0, 1)]
    uplinks = () if earlier.uplinks is None else earlier.uplinks.uplinks
    measured = {
        name for index, name in enumerate(earlier.names) if any(has_any[index] for has_any in read)
    }
    has_uplink = {known.group for known in uplinks}
    measured.update(*(group.hosts for group in earlier.groups if group.name in has_uplink))
    known = {host.name for host in listed}
    lacking = [name for name in earlier.names if name in measured - known]
    if lacking:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise WrongUseError(
            f"{hosts}: does not list {lacking[0]}{more}, whose readings {resume} would lose",
            "list all hosts of that file, or write to another file",
        )
