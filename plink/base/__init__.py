"""Utilities for every part of plink: errors, interrupts, progress, sizes, text."""
