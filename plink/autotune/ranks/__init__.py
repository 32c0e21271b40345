"""What a training process has of autotuning: it reports to a daemon and takes plans from it.

Standard library, numpy and plink's plans only (`docs/autotune-daemon.md`).
"""
