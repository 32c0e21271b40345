"""What must not change by accident: files, `--json`, help, exit codes, launchers' files.

A change of a golden file is a change for users, and is reviewed as one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.test_help import commands
from contract.golden import compare, compare_json
from hostile.valid import path_of, write_all
from launchers.texts import HOSTS
from plink.cli import schemas as catalogue
from plink.deploy.launchers import FORMATS, TOPOLOGIES
from plink.formats.hosts import Group
from schemas.test_outputs import LINES, Kinds
from support.plink_command import plink_here

EXIT_CODES = {
    "--version": 0,
    "--help": 0,
    "no-such-verb": 2,
    "show {cluster} --no-such-option": 2,
    "show no-such-file": 2,
    "show {csv}": 2,
    "show {cluster}": 0,
    "order {cluster} --time-limit 0.05": 3,  # a host of the file was not reached
    "order {cluster} --algo no-such-algorithm": 2,
    "plan {cluster} --size 1MB": 3,
    "predict {cluster} --size 1MB": 0,
    "import {csv} -o out.json": 0,
    "import {secret} -o out.json": 2,
    "doctor {cluster}": 0,
    "doctor {log}": 4,
    "schema no-such-schema": 2,
    "export {cluster} -o /no/such/folder/file": 2,
}


# A search of so few hosts ends with a proof, long before this limit also on a busy machine.
WHOLE_LINES = [line.replace("--time-limit 0.05", "--time-limit 30") for line in LINES]


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("contract")
    write_all(found)
    (found / "racks").write_text("r0: gpu[00-02]\nr1: gpu[03-05]\n")
    return found


@pytest.mark.parametrize("kind", ["cluster", "order", "plan", "comparison", "log", "timeline"])
def test_file(kind: str, folder: Path) -> None:
    text = path_of(kind, folder).read_text()
    if kind == "log":
        compare_json("files/log.json", [json.loads(line) for line in text.splitlines()])
    else:
        compare_json(f"files/{kind}.json", json.loads(text))


@pytest.mark.parametrize("line", WHOLE_LINES)
def test_json(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = plink_here(*line.format_map(Kinds(folder)).split(), "--json")
    name = line.replace("{", "").replace("}", "").replace(" ", "_").replace("/", "_")
    printed = done.stdout.replace(str(folder), "FOLDER")
    compare_json(f"json/{name}.json", {"exit code": done.code, "printed": json.loads(printed)})


@pytest.mark.parametrize("line", EXIT_CODES)
def test_exit_code(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    done = plink_here(*line.format_map(Kinds(folder)).split())
    assert done.code == EXIT_CODES[line], done.stderr


@pytest.mark.parametrize("verb", ["", *commands()])
def test_help(verb: str) -> None:
    done = plink_here(*verb.split(), "--help")
    assert done.code == 0
    compare(f"help/{verb.replace(' ', '-') or 'plink'}.txt", done.stdout)


@pytest.mark.parametrize("launcher", [*FORMATS, *TOPOLOGIES])
def test_launcher(launcher: str) -> None:
    hosts = [host for host in HOSTS if host.slots == 1]
    if launcher in TOPOLOGIES:
        groups = [Group("r0", [hosts[0].name]), Group("r1", [host.name for host in hosts[1:]])]
        text = TOPOLOGIES[launcher].render(groups)
    else:
        text = FORMATS[launcher].render(hosts)
    compare(f"launchers/{launcher}.txt", text)


def test_schemas() -> None:
    for name in catalogue.makers():
        compare_json(f"schemas/{name}.json", catalogue.schema(name))
