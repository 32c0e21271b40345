"""Search, bounds, grouping and embedding on distance matrices.

This package knows no file and no host, and imports nothing else of plink.
"""
