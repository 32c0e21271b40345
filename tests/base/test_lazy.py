import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.base.lazy import lazy_imports


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with the modules `first` and `second`, of which none is loaded."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    for name in ("__init__", "first", "second"):
        (folder / f"{name}.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder.name
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]


def in_thread(work: object) -> list[object]:
    """What a function returns or raises in another thread."""
    done: list[object] = []

    def run() -> None:
        try:
            done.append(work())  # type: ignore[operator]
        except Exception as error:
            done.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    return done


def test_defers_a_module_until_it_is_used(package: str) -> None:
    with lazy_imports():
        first = importlib.import_module(f"{package}.first")
    assert package not in sys.modules
    assert first.VALUE == 7
    assert f"{package}.first" in sys.modules


def test_imports_of_other_threads_are_not_deferred(package: str) -> None:
    with lazy_imports():
        done = in_thread(lambda: importlib.import_module(f"{package}.first").__file__)
    assert isinstance(done[0], str)


def test_another_thread_uses_what_was_deferred_before(package: str) -> None:
    with lazy_imports():
        first = importlib.import_module(f"{package}.first")
    with lazy_imports():
        assert in_thread(lambda: first.VALUE) == [7]


def test_another_thread_uses_what_is_deferred_at_the_moment(package: str) -> None:
    with lazy_imports():
        first = importlib.import_module(f"{package}.first")
        second = importlib.import_module(f"{package}.second")
        assert in_thread(lambda: importlib.import_module(f"{package}.first").VALUE) == [7]
        assert in_thread(lambda: second.VALUE) == [7]
    assert first.VALUE == second.VALUE == 7
    assert sys.modules[f"{package}.first"].__file__


def test_imports_of_other_threads_during_many_blocks() -> None:
    names = ["colorsys", "codeop", "sched", "netrc", "statistics"]
    is_over = threading.Event()
    wrong: list[object] = []

    def load() -> None:
        while not is_over.is_set():
            for name in names:
                sys.modules.pop(name, None)
                wrong.extend(
                    found
                    for found in in_thread(lambda name=name: importlib.import_module(name).__file__)
                    if not isinstance(found, str)
                )

    thread = threading.Thread(target=load)
    thread.start()
    for _ in range(2000):
        with lazy_imports():
            importlib.import_module("no.such.module")
    is_over.set()
    thread.join()
    assert not wrong
