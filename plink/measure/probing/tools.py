"""Table of the measuring tools: what each measures, with what, and how it resumes a measurement.

A tool imports what measures only when it measures, so that the command line can list all tools at
once. A new tool is a class of options (`plink.probes.options`), a module with `measure(job, sink)`
and one entry here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from plink.base.arguments import to_finite_number
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.probes.errors import OptionError
from plink.probes.options import (
    DpdkOptions,
    EchoOptions,
    FpingOptions,
    Iperf3Options,
    Options,
    TraceOptions,
    TransferOptions,
    parse_nics,
)
from plink.probes.samples import MeasuringJob

if TYPE_CHECKING:
    from plink.formats.hosts import Group
    from plink.probes.hosts.hostlist import ListedHost

MAX_COUNT = 10_000
MAX_PASSES = 100

# Transfers with iperf3.
MAX_DURATION_S = 60
MAX_STREAMS = 32
DIRECTIONS = ("each", "both")

# Rounds of the tournament that "all of them" is a number for, and that notes give as an example.
ALL_ROUNDS = 1 << 32
# In place of a number of rounds: pairs are chosen by what the readings show.
FOLLOWED_ROUNDS = 0
EXAMPLE_ROUNDS = 32

# How often a pair meets when a file is checked.
CHECK_PASSES = 2
# Partners of a host that a check measures again. With 4 near and 4 other ones every host that was
# moved was found, and every rack whose uplink changed as one group (tests/drift).
CHECK_PARTNERS = 8
# Seconds that the transfers of a check may take, and how many hosts and groups they are of: those
# that limit jobs most.
CHECK_TRANSFERS_S = 60.0
CHECK_LINKS = 64
CHECK_UPLINKS = 16


# Fields of the options with which an earlier measurement is resumed, from the fields that are given
# now, the options that its file records, and the name of that file for errors.
Resume = Callable[[Mapping[str, Any], Mapping[str, Any], str], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class UplinkOptions(TransferOptions):
    """Options of the tool uplinks: transfers between groups, with all their hosts at once."""

    tool: ClassVar[str] = "uplinks"
    description: ClassVar[str] = "uplinks for {0.group_duration_s} s"
    groups: Sequence[Group] = ()

    # TCP connections that share an uplink need longer to settle than one by itself.
    @property
    def group_duration_s(self) -> int:
        """Seconds of a transfer between groups; 2 by default."""
        return self.duration_s or 2

    def to_record(self) -> dict[str, Any]:
        """Return the options as JSON values, as the cluster file records them."""
        return {**super().to_record(), "duration_s": self.group_duration_s}


@dataclass(frozen=True)
class Tool(Generic[Options]):
    """Measuring tool such as echo or iperf3: its options, what it measures and how it runs.

    Args:
        quantity: what it measures, and so what gathers its readings.
        module: the module of the probes that measures pairs; None for `uplinks`.
        carry_over: chooses the options with which an earlier measurement is resumed.
        cores_per_pair: how many cores a pair takes where hosts share a machine; 0 where pairs do
            not disturb each other.
        check: raises a WrongUseError where options do not fit the hosts that are listed.
    """

    options: type[Options]
    quantity: Literal["rtt", "bandwidth", "routes", "uplinks"]
    module: str | None
    carry_over: Resume
    cores_per_pair: int = 1
    check: Callable[[Any, Sequence[ListedHost]], None] | None = None

    @property
    def name(self) -> str:
        """Name of the tool in options and files, such as echo."""
        return self.options.tool

    def measure(self, job: MeasuringJob[Any], sink: Any) -> None:
        """Measure a job into a sink (`plink.probes.samples.Sink`).

        Raises:
            OptionError: the tool measures groups of hosts, not pairs.
        """
        if self.module is None:
            raise OptionError(f"{self.name} measures groups of hosts, not pairs")
        importlib.import_module(f"plink.probes.{self.module}").measure(job, sink)

    def resume(self, given: Mapping[str, Any], recorded: Mapping[str, Any], source: str) -> Options:
        """Return the options that continue an earlier measurement; raise if given ones differ.

        Args:
            given: the fields that were asked for now.
            recorded: the options of the earlier measurement, as its file has them.

        Raises:
            WrongUseError: the readings would not compare, or a recorded option is not valid.
        """
        return self.options(**self.carry_over(given, recorded, source))


def _resume_round_trips(
    given: Mapping[str, Any], recorded: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Return recorded options of round-trip times, overridden by given ones, and added passes."""
    del source
    precision_percent = to_finite_number(recorded.get("precision_percent"))
    if precision_percent is not None and not 0.0 <= precision_percent <= 100.0:
        precision_percent = None
    before = {
        "count": read_recorded_whole(recorded, "count", MAX_COUNT),
        "passes": read_recorded_whole(recorded, "passes", MAX_PASSES),
        "precision_percent": precision_percent,
    }
    known: dict[str, Any] = {name: value for name, value in before.items() if value is not None}
    extra = max(0, given["passes"] - known.get("passes", 1)) if "passes" in given else 0
    return {**known, **given, "extra_passes": extra}


def _resume_dpdk(
    given: Mapping[str, Any], recorded: Mapping[str, Any], source: str
) -> dict[str, Any]:
    lines = recorded.get("nics", [])
    if not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise WrongUseError(f"{source}: options.nics is {brief(lines)}, expected a list of strings")
    before = parse_nics(lines, f"{source}: options.nics")
    nics = given.get("nics", ())
    if nics and tuple(nics) != before:
        raise WrongUseError(
            f"{source}: was measured with other NICs than those given now",
            "leave out the NICs, or write a new measurement to another file",
        )
    return {**_resume_round_trips(given, recorded, source), "nics": before}


def _resume_trace(
    given: Mapping[str, Any], recorded: Mapping[str, Any], source: str
) -> dict[str, Any]:
    del source
    count = read_recorded_whole(recorded, "count", MAX_COUNT)
    return {**({} if count is None else {"count": count}), **given}


def _resume_transfers(
    given: Mapping[str, Any], recorded: Mapping[str, Any], source: str
) -> dict[str, Any]:
    """Return recorded options of transfers; raise if a given one differs, except the duration."""
    for name, high in (("duration_s", MAX_DURATION_S), ("streams", MAX_STREAMS)):
        if read_recorded_whole(recorded, name, high) is None:
            raise WrongUseError(f"{source}: options.{name} is not a whole number from 1 to {high}")
    direction, congestion = recorded.get("direction"), recorded.get("congestion")
    if direction is not None and direction not in DIRECTIONS:
        raise WrongUseError(f"{source}: options.direction is not one of {', '.join(DIRECTIONS)}")
    if congestion is not None and not (isinstance(congestion, str) and congestion.isalnum()):
        raise WrongUseError(f"{source}: options.congestion is {brief(congestion)}, expected a name")
    names = ("duration_s", "streams", "direction", "congestion")
    before = {name: recorded.get(name) for name in names}
    for name, value in before.items():
        if name != "duration_s" and given.get(name, value) != value:
            raise build_option_changed_error(source, name, value, given[name])
    return {**before, **given}


def _resume_uplinks(
    given: Mapping[str, Any], recorded: Mapping[str, Any], source: str
) -> dict[str, Any]:
    options = _resume_transfers(given, recorded, source)
    options.pop("direction", None)
    return options


def read_recorded_whole(recorded: Mapping[str, Any], name: str, most: int) -> int | None:
    """Return a recorded option; None if absent or not a whole number from 1 to `most`."""
    value = recorded.get(name)
    return value if type(value) is int and 1 <= value <= most else None


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


def _check_nics(options: DpdkOptions, hosts: Sequence[ListedHost]) -> None:
    names = {host.name for host in hosts}
    for nic in options.nics:
        if nic.host not in names:
            raise WrongUseError(f"nics: {nic.host} is not in the host list")


def _check_groups(options: UplinkOptions, hosts: Sequence[ListedHost]) -> None:
    del hosts
    hint = "the uplink of a group is its connection to the hosts of other groups"
    if not options.groups:
        raise WrongUseError("measuring uplinks needs groups of hosts", hint)
    if len(options.groups) == 1:
        raise WrongUseError(
            f"measuring uplinks needs at least two groups, found only {options.groups[0].name}",
            hint,
        )


IPERF3 = Tool(Iperf3Options, "bandwidth", "iperf3.tool", _resume_transfers)
UPLINKS = Tool(UplinkOptions, "uplinks", None, _resume_uplinks, check=_check_groups)
# By name, in the order in which the command line offers them; the first is the default.
TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for tool in (
        Tool(EchoOptions, "rtt", "echo.coordinator", _resume_round_trips),
        # Both ends of a pair poll.
        Tool(DpdkOptions, "rtt", "dpdk.tool", _resume_dpdk, 2, _check_nics),
        Tool(FpingOptions, "rtt", "fping", _resume_round_trips),
        Tool(TraceOptions, "routes", "trace.tool", _resume_trace, cores_per_pair=0),
        IPERF3,
        UPLINKS,
    )
}
DEFAULT_TOOL = EchoOptions.tool

_OF_PAIRS = [name for name, tool in TOOLS.items() if tool.module is not None]
# By option, the tools on which it has an effect; every run takes those that are not here.
TAKEN_BY: Mapping[str, Sequence[str]] = {
    "rounds": _OF_PAIRS,
    "seed": _OF_PAIRS,
    **{
        option: [
            name
            for name, tool in TOOLS.items()
            if option in {field.name for field in fields(tool.options)}
        ]
        for option in sorted({f.name for tool in TOOLS.values() for f in fields(tool.options)})
    },
}
