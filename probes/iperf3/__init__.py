"""Measurement of bandwidths with iperf3, between pairs and between groups of hosts."""
