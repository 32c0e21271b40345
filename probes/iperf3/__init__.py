"""iperf3 as a measuring tool: bandwidth of pairs, and transfers that others put together."""
