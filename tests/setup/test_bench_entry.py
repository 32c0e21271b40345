"""`scripts/bench`: its table, its help and its targets are true, and documents name what exists."""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchkit.catalogue import BY_NAME, CATALOGUE, Benchmark
from benchkit.entry import main, parser_of
from benchkit.report import Report, Target
from benchmarks.promises import parts

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPTS = CHECKOUT / "scripts"
# What some need beside options.
POSITIONAL = {"ring": ["DATA"], "autotune-lab": ["quiet"]}
READ_BY_LAB_OPTIONS = (
    *("racks", "hosts", "hops", "host_rate", "uplink_rate", "congestion_control", "seed"),
)
READ_BY_ENTRY = ("help", "json", "busy", "quick")

every_benchmark = pytest.mark.parametrize("benchmark", CATALOGUE, ids=lambda one: one.name)


def parser_for(benchmark: Benchmark) -> argparse.ArgumentParser:
    return parser_of(benchmark, importlib.import_module(benchmark.module))


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings}


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Name and arguments of each call of `scripts/bench` in a page."""
    # A command ends with its code span, or with its line and those that are further indented.
    for found in re.finditer(
        r"^( *).*?scripts/bench ([\w*-]+)([^`\n]*(?:\n\1 +\S[^\n]*)*)", page.read_text(), re.M
    ):
        yield found[2], found[3]


def pages() -> list[Path]:
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "ls-files", "-z", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [CHECKOUT / name for name in listed.split("\0") if name]


def sources_of(benchmark: Benchmark) -> Iterator[ast.Module]:
    """Its module, and those that it hands all arguments to."""
    module = importlib.import_module(benchmark.module)
    tree = ast.parse(Path(module.__file__ or "").read_text())
    yield tree
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        match call:
            case ast.Call(ast.Attribute(ast.Name(part)), [ast.Name("arguments"), *_]):
                yield ast.parse(Path(getattr(module, part).__file__ or "").read_text())


def test_every_benchmark_has_a_module_and_every_module_is_listed() -> None:
    modules = {path.stem for path in (SCRIPTS / "benchmarks").glob("*.py")} - {"__init__"}
    assert {one.module for one in CATALOGUE} == {f"benchmarks.{name}" for name in modules}
    assert len(BY_NAME) == len(CATALOGUE)


@every_benchmark
def test_help_ends_with_an_example_that_parses(benchmark: Benchmark) -> None:
    parser = parser_for(benchmark)
    last = parser.format_help().strip().splitlines()[-1]
    start = f"example: scripts/bench {benchmark.name} "
    assert last.startswith(start)
    parser.parse_args(last.removeprefix(start).replace("''", "0").split())


@every_benchmark
def test_the_quick_arguments_parse(benchmark: Benchmark) -> None:
    module = importlib.import_module(benchmark.module)
    parser = parser_of(benchmark, module)
    parser.parse_args([*module.QUICK.split(), *POSITIONAL.get(benchmark.name, [])])


@every_benchmark
def test_every_option_is_read(benchmark: Benchmark) -> None:
    nodes = [node for tree in sources_of(benchmark) for node in ast.walk(tree)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    calls = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    read |= set(READ_BY_LAB_OPTIONS) if "lab_options" in calls else set()
    assert {action.dest for action in parser_for(benchmark)._actions} - read <= set(READ_BY_ENTRY)


def test_documents_name_benchmarks_and_options_that_exist() -> None:
    found = [(page, *command) for page in pages() for command in commands(page)]
    assert len(found) > 50
    unknown = [
        f"{page.name}: scripts/bench {name} {' '.join(wrong)}"
        for page, name, arguments in found
        if (wrong := _unknown(name, arguments)) is not None
    ]
    assert unknown == []
    assert {name for _, name, _ in found} >= BY_NAME.keys() - {"streams"}


def _unknown(name: str, arguments: str) -> list[str] | None:
    """Options that a benchmark does not have; None where all is well."""
    if name not in BY_NAME:
        return None if name == "NAME" else []
    return sorted(_options_in(arguments) - options_of(parser_for(BY_NAME[name]))) or None


def _options_in(arguments: str) -> set[str]:
    return set(re.findall(r"--[a-z][a-z-]*", arguments))


def test_an_unknown_option_in_a_page_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "so `scripts/bench engine --a 1` and\n\n    scripts/bench x --b\n        --c\n\n--d"
    )
    assert [(name, _options_in(rest)) for name, rest in commands(page)] == [
        ("engine", {"--a"}),
        ("x", {"--b", "--c"}),
    ]


def test_the_table_is_printed_without_loading_any(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [one.name for one in CATALOGUE]
    program = "import benchkit.entry, sys; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=SCRIPTS, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    assert capsys.readouterr().err.startswith("error: no benchmark is called nothing\nhint: ")


def test_one_runs_and_writes_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "rounds.json"
    command = [sys.executable, str(SCRIPTS / "bench"), "rounds", "--quick", "--rounds", "all"]
    done = subprocess.run([*command, "--json", out], capture_output=True, text=True, check=True)
    written = json.loads(out.read_text())
    assert written["benchmark"] == "rounds"
    # What is given beside --quick holds.
    assert written["arguments"]["rounds"] == ["all"]
    (table,) = written["tables"]
    assert [f"| {' | '.join(row)} |" for row in table["rows"]] == done.stdout.splitlines()[2:3]
    assert done.stdout.endswith("no targets are set for what was measured\n")


def test_targets_are_told_in_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.at_least("quickness", 3, 3.914, "x")
    report.at_most("width", 15, 20.5, "%")
    report.at_most("nothing measured", 1, math.nan)
    report.conclude(["--seeds"])
    assert capsys.readouterr().out.splitlines() == [
        "| target | asked | reached |  |",
        "|---|---|---|---|",
        "| quickness | at least 3 x | 3.914 x | reached |",
        "| width | at most 15 % | 20.5 % | **missed** |",
        "| nothing measured | at most 1 | nan | **missed** |",
        "",
        "1 of 3 targets reached",
        "targets are set for the default arguments; changed: --seeds",
    ]


def test_a_target_is_reached_at_its_limit() -> None:
    assert Target("a", 2.0, 2.0, "", "at least").is_reached
    assert Target("a", 2.0, 2.0, "", "at most").is_reached
    assert not Target("a", 2.0, 1.9, "", "at least").is_reached
    assert not Target("a", 2.0, 2.1, "", "at most").is_reached


def test_promises_names_files_that_its_parts_read(tmp_path: Path) -> None:
    latency = tmp_path / "latency"
    for name in ("latency/a.csv", "latency/nccl-pairs-2.csv", "tsp/optimal.csv", "jobs.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    found = dict(parts([64], tmp_path))
    assert found["ring"][0] == str(tmp_path)
    assert found["annealers"] == ["--data", str(latency)]
    assert found["trees"] == ["--matrices", str(latency / "a.csv")]
    for data in (tmp_path, None):
        for name, argv in parts([64, 1024], data):
            parser_for(BY_NAME[name]).parse_args(argv)
