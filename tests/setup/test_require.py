"""Tests are skipped only for a reason that was checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import require


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program on the path, with a name that nothing else has."""
    path = tmp_path / "launcher"
    path.touch(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    # What other tests asked before must not answer, nor this test's answers stay.
    require.why_no_openmpi.cache_clear()
    require.why_no_hydra.cache_clear()
    return path


@pytest.mark.parametrize(
    ("version", "works"),
    [
        ("mpirun (Open MPI) 4.1.4", True),
        ("mpirun.openmpi (OpenRTE) 4.1.2", True),
        ("mpirun (Open MPI) 5.0.7", False),
        ("mpirun (Open MPI) 14.0", False),
        ("", False),
    ],
)
def test_only_open_mpi_4_will_do(program: Path, version: str, works: bool) -> None:
    program.write_text(f'#!/bin/sh\necho "{version}"\n')
    why_not = require.why_no_openmpi("launcher")
    assert (why_not is None) == works
    assert works or f"{version!r}" in str(why_not)


@pytest.mark.parametrize(("said", "works"), [("2\n2", True), ("1\n1", False), ("2", False)])
def test_mpich_must_start_two_ranks_that_know_of_each_other(
    program: Path, said: str, works: bool
) -> None:
    program.write_text(f'#!/bin/sh\necho "{said}"\n')
    why_not = require.why_no_hydra("launcher")
    assert (why_not is None) == works
    assert works or f"{said.split()}" in str(why_not)


def test_what_is_not_installed_is_named() -> None:
    assert require.why_no_openmpi("no-such-mpirun") == "needs no-such-mpirun"
    assert require.why_no_mpich("sh", "no-such-mpicc") == "needs no-such-mpicc"


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail), ("", pytest.skip)])
def test_without_root_the_lab_is_left_out_but_not_in_ci(
    ci: str, outcome: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(outcome.Exception, match="only root"):
        require.require_root()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    require.require_root()
