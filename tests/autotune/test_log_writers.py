"""Two daemons never write one log, and a log is read back whatever its clock said."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from autotune.logs import USUAL, plan_of_log
from autotune.serving import plan_of
from plink.autotune.log import records
from plink.autotune.log.journal import LogJournal, only_writer
from plink.autotune.log.replay import read_resume_state, tuner_of
from plink.autotune.tuner.interface import TunerOptions
from plink.base.errors import WrongUseError
from plink.formats import plan as plan_file
from plink.simulate.jobs import Job, Noise, first_forest
from support.plink_command import plink_argv


def test_a_second_daemon_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "job.log")
    with only_writer(path):
        with pytest.raises(WrongUseError), only_writer(path):
            pass
        with only_writer(str(tmp_path / "other.log")):
            pass
    with only_writer(path):
        pass


def test_a_log_of_a_clock_before_1970_is_read_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    plan, job = plan_of_log(), Job(noise=Noise(), seed=3)
    tuner, journal = tuner_of(plan, TunerOptions()), LogJournal(str(path))
    journal.begun(plan, tuner)
    for window in range(3):
        now_s = 5.0 * window - 86_400.0
        measured = job.window(tuner.plan, first_forest(USUAL), USUAL)
        journal.decided(now_s, measured, tuner.decide(now_s, measured))
    assert [entry.now_s for entry in records.read(str(path))[1]] == [-86400.0, -86395.0, -86390.0]
    state = read_resume_state(str(path), plan)
    assert state is not None
    assert state.windows == 3


def test_a_daemon_refuses_another_and_ends_on_a_signal_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan_file.write_plan("plan.json", plan_of(2))
    serve = ["autotune", "serve", "plan.json", "--listen", "127.0.0.1:0", "--log", "job.log"]
    daemon = subprocess.Popen(
        plink_argv(*serve), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert daemon.stdout is not None
        assert "PLINK_AUTOTUNE=" in daemon.stdout.readline()
        other = subprocess.run(
            plink_argv(*serve), capture_output=True, text=True, timeout=100, check=False
        )
        assert other.returncode == 2
        assert "another daemon" in other.stderr
        # What other signals do, `interrupts` shows of all entry points.
        daemon.send_signal(signal.SIGTERM)
        _, said = daemon.communicate(timeout=100)
    finally:
        daemon.kill()
    assert daemon.returncode == 0
    assert "Traceback" not in said
    assert said.startswith("note: ")
