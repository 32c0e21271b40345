"""Executors of independent searches: local threads, a Dask cluster, a Ray cluster."""
