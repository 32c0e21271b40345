"""Matrices in, answers out: search, bounds, seriation.

This package knows no file and no host, and imports nothing else of plink.
"""
