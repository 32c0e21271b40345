"""Ranks meet in a real Redis server."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from engine.forests import chains
from engine.group import QUICK
from plink.base.errors import WrongUseError
from plink.engine import Engine, EngineError, RedisStore
from support.needs import declared

pytestmark = [pytest.mark.timing, pytest.mark.needs("redis")]

START_TIMEOUT_S = 20.0
PASSWORD = "not-to-be-told"


@pytest.fixture(scope="module")
def redis() -> Any:
    return pytest.importorskip("redis", reason="needs the Python package redis")


@pytest.fixture(scope="module")
def server(redis: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that listens on no port, keeps nothing, and ends with this process."""
    declared("redis")
    if shutil.which("redis-server") is None or shutil.which("setpriv") is None:
        pytest.skip("needs redis-server and setpriv")
    path = tmp_path_factory.mktemp("redis") / "socket"
    argv = ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0"]
    argv += ["--unixsocket", str(path), "--requirepass", PASSWORD, "--save", ""]
    argv += ["--dir", str(path.parent)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        try:
            url = f"unix://:{PASSWORD}@{path}"
            wait_until_it_answers(redis, url)
            yield url
        finally:
            process.kill()


def wait_until_it_answers(redis: Any, url: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with redis.Redis.from_url(url) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.01)
            else:
                return


def test_engines_meet_there_one_job_after_the_other(server: str) -> None:
    for job in ("first", "second"):
        stores = [RedisStore(server, job) for _ in range(3)]
        for _ in range(2):
            arrays = [np.full(1000, rank + 1.0) for rank in range(3)]

            def reduce(
                rank: int, stores: list[RedisStore] = stores, arrays: list[Any] = arrays
            ) -> None:
                with Engine(rank, 3, stores[rank], chains(3), QUICK) as engine:
                    engine.allreduce(arrays[rank]).wait(20)

            with ThreadPoolExecutor(3) as threads:
                list(threads.map(reduce, range(3)))
            assert all(np.all(array == 6.0) for array in arrays)


def test_jobs_do_not_see_each_other_and_their_keys_expire(server: str, redis: Any) -> None:
    one, other = RedisStore(server, "one", keep_s=100.0), RedisStore(server, "other")
    one.set("a/key", b"\x00\xff")
    assert one.get("a/key", 0.0) == b"\x00\xff"
    with pytest.raises(TimeoutError, match=r"nobody set plink:other:a/key on unix:///"):
        other.get("a/key", 0.0)
    with redis.Redis.from_url(server) as client:
        assert 0 < client.pttl("plink:one:a/key") <= 100_000
        assert all(0 < client.ttl(key) <= 3600 for key in client.scan_iter())


def test_it_waits_for_a_value(server: str) -> None:
    store = RedisStore(server, "waiting")
    later = threading.Timer(0.05, RedisStore(server, "waiting").set, ["key", b"value"])
    later.start()
    assert store.get("key", 20.0) == b"value"
    later.join()


def test_a_wrong_password_is_told_and_the_right_one_is_not(server: str) -> None:
    with pytest.raises(EngineError, match=r"the Redis server at unix:///.* cannot be used") as told:
        RedisStore(server.replace(PASSWORD, "wrong-word"), "job")
    assert "wrong-word" not in str(told.value)
    assert told.value.hint == "does it run, may this host reach it, and is its password in the URL?"


def test_a_server_that_is_not_there(redis: Any) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(EngineError) as told:
            RedisStore(f"redis://:{PASSWORD}@127.0.0.1:{port}/0", "job")
    assert str(told.value).startswith(f"the Redis server at redis://127.0.0.1:{port}/0 cannot be")
    assert PASSWORD not in str(told.value)


def test_what_cannot_be(redis: Any) -> None:
    for url, job, keep_s, sentence in [
        ("http://10.0.0.1", "job", 1.0, r"http://10.0.0.1 is not the URL of a Redis server"),
        ("10.0.0.1", "job", 1.0, "what was given is not the URL of a Redis server"),
        ("redis://10.0.0.1", "", 1.0, "needs a name of its own"),
        ("redis://10.0.0.1", "job", 0.0, "keep_s is 0.0, not between 1"),
    ]:
        with pytest.raises(WrongUseError, match=sentence):
            RedisStore(url, job, keep_s)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(WrongUseError, match="needs the Python package redis") as told:
        RedisStore("redis://10.0.0.1", "job")
    assert told.value.hint == "pip install redis"
