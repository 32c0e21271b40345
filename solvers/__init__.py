"""Search for rank orders, bounds on them, and groups and points of hosts, from distances.

This package knows no file and no host, and imports nothing else of plink.
"""
