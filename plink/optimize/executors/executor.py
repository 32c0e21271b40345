"""Interface of the executors of independent searches, and their choice by address."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from plink.base.errors import PlinkError, WrongUseError

Shared = TypeVar("Shared")
Result = TypeVar("Result")

LOCAL = "local"
# Each engine and what to install for it.
_ENGINES = {"dask": "distributed", "ray": "'ray[client]'"}
_HINT = "an executor is local, dask://HOST:PORT or ray://HOST:PORT"


class Executor(Protocol):
    """Interface of executors, which run a search for several seeds, here or on a cluster."""

    def map(
        self, function: Callable[[Shared, int], Result], shared: Shared, seeds: Sequence[int]
    ) -> list[Result]:
        """Return `function(shared, seed)` for every seed, in the seeds' order.

        Raises:
            PlinkError: the engine cannot be reached, or a call failed there.
        """


class LocalExecutor:
    """Executor with threads of this process, as native searches release the GIL.

    Args:
        threads: at the same time.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def map(
        self, function: Callable[[Shared, int], Result], shared: Shared, seeds: Sequence[int]
    ) -> list[Result]:
        """Return `function(shared, seed)` for every seed, in the seeds' order."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(lambda seed: function(shared, seed), seeds))


def check_address(address: str) -> None:
    """Raise if an address does not name a known kind of executor.

    Raises:
        WrongUseError: it is neither `local`, nor an engine's host and port.
    """
    engine, colon, place = address.partition("://")
    host, _, port = place.rpartition(":")
    is_place = bool(colon and host) and port.isascii() and port.isdigit() and int(port) < 1 << 16
    if address != LOCAL and not (engine in _ENGINES and is_place):
        raise WrongUseError(f"{address!r} does not name an executor", _HINT)


def executor_at(address: str, threads: int) -> Executor:
    """Return the executor at an address, not yet connected.

    Args:
        address: `local`, `dask://HOST:PORT` or `ray://HOST:PORT`.
        threads: threads of this machine, for `local`.

    Raises:
        WrongUseError: it names no engine, or the engine's library is not installed.
    """
    check_address(address)
    if address == LOCAL:
        return LocalExecutor(threads)
    engine, _, place = address.partition("://")
    try:
        adapter = importlib.import_module(f"plink.optimize.executors.{engine}_executor")
    except ImportError:
        raise WrongUseError(
            f"{{executor=}} needs {engine}, which is not installed",
            f"pip install {_ENGINES[engine]}",
            arguments={"executor": f"{engine}://"},
        ) from None
    made: Executor = adapter.create_executor(place)
    return made


def cluster_error(engine: str, place: str, error: BaseException) -> PlinkError:
    """Return an error of Dask or Ray as one sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # What came from a worker may be a traceback, whose last line says what is wrong.
    told = ": ".join(dict.fromkeys((lines[0].strip(" :"), lines[-1].strip())))[:300]
    return PlinkError(
        f"the {engine} cluster at {place} failed: {told}",
        "its workers need the same plink as this machine",
    )
