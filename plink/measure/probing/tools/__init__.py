"""Table of the measuring tools; a new tool is one file here and one entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from plink.measure.probing.tools.base import Tool
from plink.measure.probing.tools.round_trips import DPDK, ECHO, FPING
from plink.measure.probing.tools.trace import TRACE
from plink.measure.probing.tools.transfers import IPERF3, UPLINKS

# By name, in the order in which the command line offers them; the first is the default.
TOOLS: dict[str, Tool] = {
    tool.options.tool: tool for tool in (ECHO, DPDK, FPING, TRACE, IPERF3, UPLINKS)
}
DEFAULT_TOOL = ECHO.options.tool

_OF_PAIRS = [name for name, tool in TOOLS.items() if tool.measure is not None]
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
