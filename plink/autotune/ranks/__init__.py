"""Autotuning in a training process: it reports to a daemon and takes plans from it.

Standard library, numpy and plink's plans only (`docs/autotune-daemon.md`).
"""
