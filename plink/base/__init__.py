"""Utilities for all parts of plink: errors, interrupts, progress, sizes, text."""
