"""Manual pages: real formatters read them without a warning, and they hold what `--help` says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from plink.cli import COMMANDS, cli
from plink.cli.manual import pages, prose
from support.needs import declared

DATE = "2026-01-31"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, as the build writes them."""
    folder: Path = tmp_path_factory.mktemp("manual") / "man1"
    subprocess.run(
        [sys.executable, "-m", "plink.cli.manual", folder],
        env={**os.environ, "SOURCE_DATE_EPOCH": "1769860800"},
        check=True,
    )
    return folder


def require(program: str) -> None:
    declared("man")
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")


def formatted(page: Path) -> str:
    """What a terminal of 80 columns shows, without bold."""
    plain = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANROFFSEQ": "", "MANPAGER": ""}
    done = subprocess.run(
        ["man", "--warnings", "-l", page], env=plain, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return re.sub(r".\x08", "", done.stdout)


def test_every_command_has_a_page(folder: Path) -> None:
    names = {page.stem for page in folder.iterdir()}
    assert names == set(pages(DATE))
    assert names >= {"plink", "plink-autotune-serve", *(f"plink-{name}" for name in COMMANDS)}
    assert (folder / "plink.1").read_text().startswith(f'.TH PLINK 1 "{DATE}"')


@pytest.mark.needs("man")
def test_formatters_have_no_warning(folder: Path) -> None:
    require("mandoc")
    require("groff")
    files = sorted(folder.iterdir())
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    for page in files:
        done = subprocess.run(
            ["groff", "-man", "-ww", "-T", "utf8", "-z", page],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == "", page


@pytest.mark.needs("man")
def test_a_page_says_what_help_says(folder: Path) -> None:
    require("man")
    context = click.Context(cli, info_name="plink", **cli.context_settings)
    command = cli.get_command(context, "order")
    assert command is not None
    page = " ".join(formatted(folder / "plink-order.1").split())
    for parameter in command.get_params(click.Context(command, parent=context)):
        record = parameter.get_help_record(click.Context(command, parent=context))
        if record is not None:
            assert " ".join(f"{record[0]} {record[1]}".split()) in page
    assert "EXAMPLE plink order cluster.json --algo ring --format openmpi -o hostfile" in page
    assert "-h, --help" in page


def test_every_page_has_its_example(folder: Path) -> None:
    for page in folder.iterdir():
        text = page.read_text()
        found = re.search(r"^\.SH EXAMPLES?\n(.*?)^\.SH", text, re.MULTILINE | re.DOTALL)
        assert found is not None, page
        assert "plink " in found[1]
        assert "Example:" not in found[1]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (".nothing 'of' that", r"\&.nothing \(aqof\(aq that"),
        ("a\\b ~/.ssh ^C", r"a\eb \(ti/.ssh \(haC"),
        ("`-` is µ and √", r"\fB\-\fR is \[u00B5] and \[u221A]"),
    ],
)
def test_text_is_drawn_as_it_stands(text: str, written: str) -> None:
    assert prose(text) == written
