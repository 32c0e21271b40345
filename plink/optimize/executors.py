"""Executors of independent searches: threads of this process, a Dask or a Ray cluster."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from plink.base.errors import PlinkError, WrongUseError

Shared = TypeVar("Shared")
Result = TypeVar("Result")

LOCAL = "local"
# By engine: its library, and what to install for it.
_ENGINES = {"dask": ("distributed", "distributed"), "ray": ("ray", "'ray[client]'")}
_EXPECTED = "local, dask://HOST:PORT or ray://HOST:PORT"

_CONNECT_S = 20

_TRIES = 3
# The head forks a server for each client while gRPC's threads run there, and now and then the child
# dies of that before it has begun (Ray 2.60: its log stays empty).
_STILLBORN = "Starting Ray client server failed"


def map_seeds(
    address: str,
    threads: int,
    function: Callable[[Shared, int], Result],
    shared: Shared,
    seeds: Sequence[int],
) -> list[Result]:
    """Return `function(shared, seed)` for every seed, in the seeds' order, from an executor.

    Args:
        address: `local`, `dask://HOST:PORT` (a scheduler) or `ray://HOST:PORT` (a client server).
        threads: threads of this machine, for `local`.
        function: search for one seed.
        shared: what every search needs.
        seeds: one for each search.

    Raises:
        WrongUseError: the address names no engine, or the engine's library is not installed.
        PlinkError: the engine cannot be reached, or a call failed there.
    """
    check_address(address)
    engine, _, place = address.partition("://")
    if engine == LOCAL:
        # Native searches release the GIL.
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda seed: function(shared, seed), seeds))
    library_name, package = _ENGINES[engine]
    try:
        library = importlib.import_module(library_name)
    except ImportError:
        raise WrongUseError(
            f"{{executor=}} needs {engine}, which is not installed",
            f"pip install {package}",
            arguments={"executor": f"{engine}://"},
        ) from None
    map_on_engine = _map_on_dask if engine == "dask" else _map_on_ray
    try:
        found: list[Result] = map_on_engine(library, place, function, shared, seeds)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        # What came from a worker may be a traceback, whose last line says what is wrong.
        reason = ": ".join(dict.fromkeys((lines[0].strip(" :"), lines[-1].strip())))[:300]
        raise PlinkError(
            f"the {engine.title()} cluster at {place} failed: {reason}",
            "its workers need the same plink as this machine",
        ) from None
    return found


def _map_on_dask(
    distributed: Any, place: str, function: Any, shared: Any, seeds: Sequence[int]
) -> Any:
    client = distributed.Client(f"tcp://{place}", timeout=_CONNECT_S, set_as_default=False)
    with client:
        # What all need goes to every worker once.
        known = client.scatter([shared], broadcast=True, hash=False)[0]
        return client.gather(
            [client.submit(function, known, seed, pure=False, retries=2) for seed in seeds]
        )


def _map_on_ray(ray: Any, place: str, function: Any, shared: Any, seeds: Sequence[int]) -> Any:
    for tries_left in reversed(range(_TRIES)):
        try:
            session = ray.init(f"ray://{place}", logging_level=logging.ERROR, log_to_driver=False)
            break
        except ConnectionAbortedError as error:
            if _STILLBORN not in str(error) or not tries_left:
                raise
    with session:
        known = ray.put(shared)
        remote = ray.remote(max_retries=2)(function)
        return ray.get([remote.remote(known, seed) for seed in seeds])


def check_address(address: str) -> None:
    """Raise unless an address is `local`, `dask://HOST:PORT` or `ray://HOST:PORT`.

    Raises:
        WrongUseError: it is neither `local`, nor an engine's host and port.
    """
    engine, colon, place = address.partition("://")
    host, _, port = place.rpartition(":")
    is_place = bool(colon and host) and port.isascii() and port.isdigit() and int(port) < 1 << 16
    if address != LOCAL and not (engine in _ENGINES and is_place):
        raise WrongUseError(f"{address!r} is not an executor's address, expected {_EXPECTED}")
