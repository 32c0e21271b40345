"""Every story of docs/stories.md is lived through in a lab, command by command.

PLINK_WRITE_STORIES=1 puts what was printed into the page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from labkit.bound import BOUND
from stories.page import Block, blocks, with_outputs
from support.lab import Lab, lab_cluster
from test_docs import CHECKOUT

pytestmark = [pytest.mark.lab, pytest.mark.needs("mpi", "tools")]

PAGE = CHECKOUT / "docs" / "stories.md"
STORIES = blocks(PAGE.read_text())
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=3, hops=16) as standing:
        yield standing


@pytest.fixture(scope="module")
def folder(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reader stands: a folder with the host list, and what was written so far."""
    place = tmp_path_factory.mktemp("stories")
    shutil.copy(lab.hosts_file, place / "hosts.txt")
    return place


@pytest.fixture(scope="module")
def environment(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The reader's: `plink` and `ssh` reach the hosts by name without further options."""
    home = tmp_path_factory.mktemp("home")
    (home / ".ssh").mkdir()
    shutil.copy(lab.ssh_config, home / ".ssh" / "config")
    programs = home / "bin"
    programs.mkdir()
    _write_program(programs / "ssh", f'{shutil.which("ssh")} -F "{lab.ssh_config}"')
    _write_program(programs / "plink", f"{sys.executable} -m plink")
    _write_program(programs / "mpirun", str(shutil.which("mpirun.openmpi")))
    return {
        **os.environ,
        "HOME": str(home),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_btl_tcp_if_include": lab.truth["subnet"],
        "OMPI_MCA_oob_tcp_if_include": lab.truth["subnet"],
    }


def _write_program(path: Path, command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    path.chmod(0o700)


@pytest.mark.timeout(2250)
def test_every_story_goes_as_the_page_says(
    lab: Lab, folder: Path, environment: Mapping[str, str]
) -> None:
    for block in STORIES:
        for change in block.lab:
            lab.lab(*change.split())
        if not block.not_run:
            _live_through(block, folder, environment)
    if os.environ.get("PLINK_WRITE_STORIES"):
        PAGE.write_text(with_outputs(PAGE.read_text(), STORIES))


def _live_through(block: Block, folder: Path, environment: Mapping[str, str]) -> None:
    last = block.commands[-1]
    for command in block.commands:
        done = subprocess.run(
            [*BOUND, "sh", "-c", command.line],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        where = f"{block.story}: {command.line}\n{done.stdout}"
        assert done.returncode == (block.exit if command is last else 0), where
        assert "Traceback" not in done.stdout, where
        command.output = done.stdout.splitlines()
    missing = [words for words in block.says if words not in "\n".join(last.output)]
    assert missing == [], f"{block.story}: {last.line}\n" + "\n".join(last.output)


def test_the_page_shows_what_it_says_it_shows() -> None:
    wanting = [
        (block.story, words)
        for block in blocks(PAGE.read_text())
        for words in block.says
        if words not in "\n".join(block.commands[-1].output)
    ]
    assert wanting == []


def test_there_are_ten_stories() -> None:
    assert len({block.story for block in STORIES}) == 10
