"""Echo measurement with DPDK, whose UDP packets bypass the kernel."""
