"""PyTorch's tests in processes that are forked: to import them takes seconds.

To be imported after `prepare`: they read the environment when they are imported.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
import unittest
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.testing._internal.distributed import distributed_test

import plink.torch  # noqa: F401  it registers the backend
from pytorchkit.outcomes import FAILED, PASSED, SKIPPED, Outcome

# Which tests there are depends on the backend's name. These are Gloo's, on any backend.
NAME = "gloo"

# The group's, which the ranks have by being forked.
backend = NAME


class Suite(
    distributed_test.TestDistBackend,
    distributed_test.DistributedTest._DistTestBase,
):
    """Every test; the group of all ranks is of `backend`."""

    def setUp(self) -> None:
        """Start the ranks, which wait for nobody."""
        super().setUp()  # type: ignore[no-untyped-call]
        self._start_processes(torch.multiprocessing.get_context("fork").Process)

    @classmethod
    def _run(cls, *args: Any, **kwargs: Any) -> None:
        silence()
        distributed_test.BACKEND = backend
        super()._run(*args, **kwargs)  # type: ignore[no-untyped-call]

    def run_test(self, *args: Any, **kwargs: Any) -> None:
        """The test itself, after the group has been made."""
        distributed_test.BACKEND = NAME
        super().run_test(*args, **kwargs)


def names(asked: Sequence[str]) -> list[str]:
    """Those asked for, or all.

    Raises:
        KeyError: there is none of this name.
    """
    there = unittest.defaultTestLoader.getTestCaseNames(Suite)
    for name in asked:
        if name not in there:
            raise KeyError(name)
    return list(asked or there)


def outcomes(
    tests: Sequence[str], backends: Sequence[str], ranks: Sequence[int]
) -> Iterator[Outcome]:
    """Run all of them, one after the other."""
    global backend
    logging.getLogger("torch.testing._internal.common_distributed").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="plink-pytorch-") as folder:
        os.environ["TEMP_DIR"] = tempfile.tempdir = folder
        for count in ranks:
            os.environ["WORLD_SIZE"] = str(count)
            for test in tests:
                for backend in backends:
                    came_to, reason = _outcome(test)
                    yield Outcome(test, backend, count, came_to, reason)
        tempfile.tempdir = None


def silence() -> None:
    """Errors come to the parent by a pipe; what else ranks print is of no use."""
    with Path(os.devnull).open("w", encoding="ascii") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)


def _outcome(test: str) -> tuple[str, str]:
    result = unittest.TestResult()
    with contextlib.redirect_stdout(io.StringIO()):
        Suite(test).run(result)  # type: ignore[no-untyped-call]
    if result.skipped:
        return SKIPPED, result.skipped[0][1]
    wrong = result.failures + result.errors
    return (FAILED, wrong[0][1]) if wrong else (PASSED, "")
