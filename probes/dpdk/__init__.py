"""Measuring with UDP packets that DPDK sends and receives, past the kernel."""
