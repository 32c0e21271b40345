"""Executor on the workers of a Ray cluster, through Ray's client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import ray

from plink.optimize.executors.executor import Executor, cluster_error

Shared = TypeVar("Shared")
Result = TypeVar("Result")

_TRIES = 3
# The head forks a server for each client while gRPC's threads run there, and now and then the child
# dies of that before it has begun (Ray 2.60: its log stays empty).
_STILLBORN = "Starting Ray client server failed"


class _RayExecutor:
    def __init__(self, place: str) -> None:
        self._place = place

    def map(
        self, function: Callable[[Shared, int], Result], shared: Shared, seeds: Sequence[int]
    ) -> list[Result]:
        try:
            with _session(self._place):
                known = ray.put(shared)
                remote = ray.remote(max_retries=2)(function)
                found: list[Result] = ray.get([remote.remote(known, seed) for seed in seeds])
                return found
        except Exception as error:
            raise cluster_error("Ray", self._place, error) from None


def _session(place: str) -> Any:
    """Return a Ray client session; retry if the cluster's proxy failed to start a server for it."""
    for _ in range(_TRIES - 1):
        try:
            return _open_client(place)
        except ConnectionAbortedError as error:
            if _STILLBORN not in str(error):
                raise
    return _open_client(place)


def _open_client(place: str) -> Any:
    return ray.init(f"ray://{place}", logging_level=logging.ERROR, log_to_driver=False)


def create_executor(place: str) -> Executor:
    """Return the executor of the Ray client server at `HOST:PORT`."""
    return _RayExecutor(place)
