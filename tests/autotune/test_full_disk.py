"""A disk that is full for a while: the tuner's log says so, and goes on when there is room."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autotune.logs import USUAL, plan_of_log, write_log
from plink.autotune.log import records
from plink.autotune.log.history import history_of
from plink.autotune.log.journal import LogJournal
from plink.autotune.log.replay import read_resume_state, replay, tuner_of
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.snapshot import to_json
from plink.base.errors import PlinkError, WrongUseError
from plink.cli import run
from plink.simulate.jobs import Job, Noise, first_forest

PLAN = plan_of_log()


class Logged:
    """A simulated job that is tuned and logged, window by window."""

    def __init__(self, path: Path) -> None:
        self._job = Job(noise=Noise(), seed=3)
        self.tuner = tuner_of(PLAN, TunerOptions())
        self._forest = first_forest(USUAL)
        self.journal = LogJournal(str(path))
        self._windows = 0

    def begin(self) -> None:
        self.journal.begun(PLAN, self.tuner)

    def window(self) -> None:
        """Decide on another window, and log it."""
        window = self._job.window(self.tuner.plan, self._forest, USUAL)
        decision = self.tuner.decide(5.0 * self._windows, window)
        self._windows += 1
        self.journal.decided(5.0 * self._windows, window, decision)


def full(*_: object) -> int:
    raise OSError(28, "No space left on device")


def entries_of(path: Path) -> list[records.Entry]:
    return list(records.read(str(path))[1])


def test_windows_that_could_not_be_logged_are_counted_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job.log"
    logged = Logged(path)
    logged.begin()
    for _ in range(4):
        logged.window()
    with monkeypatch.context() as patched:
        patched.setattr(records, "_append", full)
        for _ in range(3):
            with pytest.raises(PlinkError, match=r"job.log: cannot be written: No space left"):
                logged.window()
    for _ in range(5):
        logged.window()
    found = entries_of(path)
    assert [entry.unlogged for entry in found] == [0, 0, 0, 0, 3, 0, 0, 0, 0]
    start, entries = records.read(str(path))
    replayed = list(replay(start, entries))
    assert len(replayed) == 8
    assert all(each.is_same for each in replayed)
    run_of_log = history_of([records.read(str(path))])
    assert run_of_log.windows == 9
    assert run_of_log.is_replayed
    state = read_resume_state(str(path), PLAN)
    assert state is not None
    assert state.tuner.plan == logged.tuner.plan
    assert to_json(state.tuner) == to_json(logged.tuner)


def test_a_part_of_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`RLIMIT_FSIZE` lets the kernel write a part of a line, as a full disk does."""
    path = tmp_path / "job.log"
    program = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from plink.autotune.log.records import _append\n"
        "path = Path(sys.argv[1])\n"
        "_append(path, b'whole\\n')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))\n"
        "try: _append(path, b'x' * 50 + b'\\n')\n"
        "except OSError as error: print(error.strerror)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "_append(path, b'again\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "File too large\n"
    assert path.read_bytes() == b"whole\nagain\n"


def test_a_log_that_could_not_be_begun_begins_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job.log"
    path.write_text("of an earlier run\n")
    logged = Logged(path)
    with monkeypatch.context() as patched:
        patched.setattr(records.document, "write_bytes", lambda *_: _raise(PlinkError("full")))
        with pytest.raises(PlinkError, match="full"):
            logged.begin()
        with pytest.raises(PlinkError, match="full"):
            logged.window()
        assert path.read_text() == "of an earlier run\n"
    for _ in range(3):
        logged.window()
    assert Path(f"{path}.1").read_text() == "of an earlier run\n"
    start, entries = records.read(str(path))
    assert start.state is not None
    assert [each.is_same for each in replay(start, entries)] == [True, True]


def test_a_log_without_room_for_a_new_one_stays_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job.log"
    logged = Logged(path)
    logged.begin()
    monkeypatch.setattr(records.LogWriter, "restart", lambda *_: _raise(PlinkError("full")))
    logged.journal._writer._max_bytes = 10
    logged.window()
    logged.window()
    assert len(entries_of(path)) == 2
    assert not Path(f"{path}.1").exists()


def test_a_gap_without_a_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    write_log(path)
    lines = path.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), "unlogged": 2})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(WrongUseError, match=r"line 4: has no state"):
        entries_of(path)


ON_A_SMALL_DISK = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from autotune.test_full_disk import Logged
from plink.base.errors import PlinkError

folder = Path(sys.argv[1])
logged = Logged(folder / "job.log")
logged.begin()
said = []
for number in range(40):
    try:
        logged.window()
        said.append(".")
    except PlinkError as error:
        said.append("x")
        last = str(error)
    if number == 15:
        (folder / "filler").write_bytes(b"")
        try:
            with (folder / "filler").open("wb", buffering=0) as stream:
                while True:
                    stream.write(bytes(512))
        except OSError:
            pass
    if number == 25:
        (folder / "filler").unlink()
print("".join(said), last)
"""


def test_a_small_disk_that_fills_up_and_is_cleared(tmp_path: Path) -> None:
    """A real file system without room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    inside = (
        f"mount -t tmpfs -o size=256k tmpfs {disk} || exit 77; "
        f'"$@" && cp {disk}/job.log {tmp_path}/kept.log'
    )
    tests = str(Path(__file__).resolve().parents[1])
    argv = [sys.executable, "-c", ON_A_SMALL_DISK, str(disk), tests]
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare")
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", inside, "sh", *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    said, _, error = done.stdout.strip().partition(" ")
    assert error.endswith("job.log: cannot be written: No space left on device")
    assert said.startswith("." * 16)
    assert "x" * 5 in said
    assert said.endswith("." * 14)
    path = tmp_path / "kept.log"
    found = entries_of(path)
    assert len(found) == said.count(".")
    assert sum(entry.unlogged for entry in found) == said.count("x")
    assert run(["autotune", "replay", str(path)]) == 0
    assert read_resume_state(str(path), PLAN) is not None


def _raise(error: Exception) -> Any:
    raise error
