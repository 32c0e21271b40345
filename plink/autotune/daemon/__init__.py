"""The process that keeps the plans of running jobs fitted (`docs/autotune-daemon.md`)."""
