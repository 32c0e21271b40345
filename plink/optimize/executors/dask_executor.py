"""Executor on the workers of a Dask cluster (dask.distributed)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import distributed

from plink.optimize.executors.executor import Executor, cluster_error

Shared = TypeVar("Shared")
Result = TypeVar("Result")

_CONNECT_S = 20


class _DaskExecutor:
    def __init__(self, place: str) -> None:
        self._place = place

    def map(
        self, function: Callable[[Shared, int], Result], shared: Shared, seeds: Sequence[int]
    ) -> list[Result]:
        try:
            with _client(self._place) as client:
                # What all need goes to every worker once.
                known = client.scatter([shared], broadcast=True, hash=False)[0]
                futures = [
                    client.submit(function, known, seed, pure=False, retries=2) for seed in seeds
                ]
                found: list[Result] = client.gather(futures)
                return found
        except Exception as error:
            raise cluster_error("Dask", self._place, error) from None


def _client(place: str) -> Any:
    # Its library is not typed throughout.
    make: Any = distributed.Client
    return make(f"tcp://{place}", timeout=_CONNECT_S, set_as_default=False)


def create_executor(place: str) -> Executor:
    """Return the executor of the Dask scheduler at `HOST:PORT`."""
    return _DaskExecutor(place)
