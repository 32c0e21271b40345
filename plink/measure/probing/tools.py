"""The tools that measure pairs of hosts, by name."""

from __future__ import annotations

from plink.measure.probing.adapters import dpdk, echo, fping, iperf3, trace
from plink.measure.probing.adapters.base import Tool

TOOLS: dict[str, Tool] = {
    "echo": echo.TOOL,
    "dpdk": dpdk.TOOL,
    "fping": fping.TOOL,
    "trace": trace.TOOL,
    "iperf3": iperf3.TOOL,
}
