"""Searches on the workers of a Ray cluster, through Ray's client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import ray

from plink.optimize.executors.executor import Executor, failed

Shared = TypeVar("Shared")
Result = TypeVar("Result")


class _RayExecutor:
    def __init__(self, place: str) -> None:
        self._place = place

    def map(
        self, function: Callable[[Shared, int], Result], shared: Shared, seeds: Sequence[int]
    ) -> list[Result]:
        try:
            context = ray.init(
                f"ray://{self._place}", logging_level=logging.ERROR, log_to_driver=False
            )
            with context:
                known = ray.put(shared)
                remote = ray.remote(max_retries=2)(function)
                found: list[Result] = ray.get([remote.remote(known, seed) for seed in seeds])
                return found
        except Exception as error:
            raise failed("Ray", self._place, error) from None


def connected(place: str) -> Executor:
    """The engine at `HOST:PORT`, which is that of the cluster's client server."""
    return _RayExecutor(place)
