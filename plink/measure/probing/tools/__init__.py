"""The measuring tools. A new one is a file here and one entry in this table."""

from __future__ import annotations

from plink.measure.probing.tools.base import Tool
from plink.measure.probing.tools.round_trips import DPDK, ECHO, FPING
from plink.measure.probing.tools.trace import TRACE
from plink.measure.probing.tools.transfers import IPERF3, UPLINKS

# By name, in the order in which the command line offers them; the first is the default.
TOOLS: dict[str, Tool] = {tool.name: tool for tool in (ECHO, DPDK, FPING, TRACE, IPERF3, UPLINKS)}
DEFAULT_TOOL = ECHO.name
