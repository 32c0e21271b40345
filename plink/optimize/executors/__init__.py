"""Engines that run independent searches: this machine's cores, a Dask cluster, a Ray cluster."""
