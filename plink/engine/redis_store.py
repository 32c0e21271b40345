"""Redis server as the store where ranks meet; needs the Python package `redis`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from plink.base.errors import WrongUseError
from plink.engine.failure import EngineError

_CONNECT_TIMEOUT_S = 5.0
_ANSWER_TIMEOUT_S = 10.0
_POLL_S = 0.002
_LONGEST_POLL_S = 0.05


class RedisStore:
    """Store on a Redis server that all ranks reach.

    Args:
        url: of the server, such as `redis://10.0.0.1:6379/0`, `rediss://` with TLS, `unix://` with
            a path; a password may stand in it, and is in no message.
        job: a name that this job alone has on that server: what another job of the same name left
            there would be taken for this one's. All keys begin with `plink:` and it.
        keep_s: the server forgets a key so long after it was set.

    Raises:
        WrongUseError: the package is missing, or a value cannot be.
        EngineError: the server cannot be reached, or refuses.
    """

    def __init__(self, url: str, job: str, keep_s: float = 3600.0) -> None:
        try:
            import redis  # noqa: PLC0415
        except ImportError:
            raise WrongUseError(
                "a RedisStore needs the Python package redis",
                "pip install redis",
            ) from None
        if not job:
            raise WrongUseError("a job that meets in Redis needs a name of its own")
        if not 1.0 <= keep_s < 1e9:
            raise WrongUseError(f"keep_s is {keep_s}, not between 1 and a billion seconds")
        self._prefix = f"plink:{job}:"
        self._keep_ms = round(keep_s * 1000)
        self._failures: tuple[type[Exception], ...] = (redis.RedisError, OSError)
        self._server = _without_secrets(url)
        try:
            self._client: Any = redis.Redis.from_url(
                url, socket_connect_timeout=_CONNECT_TIMEOUT_S, socket_timeout=_ANSWER_TIMEOUT_S
            )
        except ValueError:
            raise WrongUseError(
                f"{self._server} is not the URL of a Redis server",
                "such as redis://10.0.0.1:6379/0",
            ) from None
        with self._talk():
            self._client.ping()

    def set(self, key: str, value: bytes) -> None:
        """Set a key, which the server forgets after `keep_s` seconds."""
        with self._talk():
            self._client.set(self._prefix + key, value, px=self._keep_ms)

    def claim(self, key: str, value: bytes) -> bytes:
        """Set a key for `keep_s` seconds unless it has a value; return the value that it has."""
        with self._talk():
            self._client.set(self._prefix + key, value, px=self._keep_ms, nx=True)
        return self.get(key, 0.0)

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return a key's value once it is set, polling at longer and longer intervals.

        Raises:
            TimeoutError: nobody set it within `timeout_s` seconds.
            EngineError: the server cannot be reached, or refuses.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _POLL_S
        while True:
            with self._talk():
                value = self._client.get(self._prefix + key)
            if value is not None:
                return bytes(value)
            if time.monotonic() >= deadline:
                raise TimeoutError(f"nobody set {self._prefix}{key} on {self._server}")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_POLL_S)

    @contextmanager
    def _talk(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            raise EngineError(
                f"the Redis server at {self._server} cannot be used: {error}",
                hint="does it run, may this host reach it, and is its password in the URL?",
            ) from None


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
        where = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "what was given"
    return f"{parts.scheme}://{where}" if parts.scheme else "what was given"
