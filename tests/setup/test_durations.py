"""Files run in the order of their recorded durations, and a run records them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import durations

# Others take most of a start.
PLUGINS = ("-p", "xdist.plugin", "-p", "support.durations")
RECORD = {"test_a.py": 6.0, "test_b.py": 7.0}


def test_long_files_come_first_with_short_ones_between() -> None:
    seconds = {"a": 10.0, "b": 60.0, "c": 30.0, "d": 20.0, "e": 1.0, "f": 2.0}
    assert durations.order_files(seconds) == ["b", "f", "c", "d", "e", "a"]


def test_a_file_without_a_record_counts_by_its_marks(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("")
    assert durations.estimate_seconds(file) < durations.LONG_S
    file.write_text("pytestmark = pytest.mark.lab\n")
    usual_s = durations.estimate_seconds(file)
    assert usual_s >= durations.LONG_S
    file.write_text("pytestmark = pytest.mark.lab\n@pytest.mark.timeout(1500)\n")
    assert durations.estimate_seconds(file) > usual_s


@pytest.mark.parametrize("content", [None, "", "{", '{"a": "b"}', '{"a": []}', "[]"])
def test_a_missing_or_damaged_record_is_none(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    if content is not None:
        path.write_text(content)
    assert durations.read_record(path) == {}


def test_workers_take_files_in_the_order_of_the_last_run(tmp_path: Path) -> None:
    record = tmp_path / "build" / "test-durations.json"
    record.parent.mkdir()
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text("def test_it(): pass\ndef test_other(): pass\n")

    def run(*options: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", *PLUGINS, *options],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parents[1]),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    record.write_text(json.dumps(RECORD))
    run("-k", "other")
    assert json.loads(record.read_text()) == RECORD
    record.write_text(json.dumps({**RECORD, "test_gone.py": 8.0}))
    shown = run("-n", "1", "--dist", "loadfile", "--no-loadscope-reorder")
    assert shown.index("test_b.py::") < shown.index("test_a.py::"), shown
    recorded = json.loads(record.read_text())
    assert recorded.keys() == RECORD.keys()
    assert max(recorded.values()) < min(RECORD.values())
