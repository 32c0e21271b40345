"""Table of the measuring tools, and the limits of their options.

A tool imports what measures only when it measures, so that the command line can list all tools at
once. A new tool is a class of options (`plink.probes.options`), a module with `measure(job, sink)`
and one entry here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from plink.probes.errors import OptionError
from plink.probes.options import (
    DpdkOptions,
    EchoOptions,
    FpingOptions,
    Iperf3Options,
    ToolOptions,
    TraceOptions,
    TransferOptions,
)

if TYPE_CHECKING:
    from plink.formats.hosts import Group
    from plink.probes.samples import MeasuringJob

MAX_COUNT = 10_000
MAX_PASSES = 100

# Transfers with iperf3.
MAX_DURATION_S = 60
MAX_STREAMS = 32
DIRECTIONS = ("each", "both")
# Names of congestion control algorithms, as a regular expression.
CONGESTION = "[a-z0-9]{1,15}"

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


@dataclass(frozen=True, kw_only=True)
class UplinkOptions(TransferOptions):
    """Options of the tool uplinks: transfers between groups, with all their hosts at once."""

    tool: ClassVar[str] = "uplinks"
    quantity = "uplinks"
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


def measure(job: MeasuringJob[Any], sink: Any) -> None:
    """Measure a job with the tool of its options into a sink (`plink.probes.samples.Sink`).

    Raises:
        OptionError: the tool measures groups of hosts, not pairs.
    """
    if not job.options.module:
        raise OptionError(f"{job.options.tool} measures groups of hosts, not pairs")
    importlib.import_module(f"plink.probes.{job.options.module}").measure(job, sink)


# By name, in the order in which the command line offers them; the first is the default.
TOOLS: Mapping[str, type[ToolOptions]] = {
    options.tool: options
    for options in (
        EchoOptions,
        DpdkOptions,
        FpingOptions,
        TraceOptions,
        Iperf3Options,
        UplinkOptions,
    )
}
DEFAULT_TOOL = EchoOptions.tool

_OF_PAIRS = [name for name, options in TOOLS.items() if options.module]
_NAMES = {name: [each.name for each in fields(options)] for name, options in TOOLS.items()}
# By option, the tools on which it has an effect; every run takes those that are not here.
TAKEN_BY: Mapping[str, Sequence[str]] = {
    "rounds": _OF_PAIRS,
    "seed": _OF_PAIRS,
    **{
        option: [name for name, names in _NAMES.items() if option in names]
        for option in sorted({option for names in _NAMES.values() for option in names})
    },
}
