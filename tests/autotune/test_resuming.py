"""A daemon that is started again goes on where its log ends, or says why it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.logs import SIZE_BYTES, WINDOWS, damage, plan_of_log, write_log
from autotune.reporting import first, report
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.log import journal, records
from plink.autotune.log.journal import LogJournal
from plink.autotune.log.replay import UnusableLogError, read_resume_state, replay, tuner_of
from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.protocol.messages import NewPlan
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.snapshot import to_json
from plink.base.errors import WrongUseError
from plink.base.replacing import replace

RANKS = 4
# Of the job whose log it is, where all is well.
ITERATION_S = 0.35
PLAN = plan_of_log()
# Soon after the end of the log.
RESTARTED_S = 300.0


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("log") / "job.log"
    write_log(path)
    return path.read_bytes()


@pytest.fixture
def log(tmp_path: Path, written: bytes) -> Path:
    path = tmp_path / "job.log"
    path.write_bytes(written)
    return path


def restarted(log: Path) -> Job:
    state = read_resume_state(str(log), PLAN)
    return Job(
        "job", PLAN, lambda plan: tuner_of(plan, TunerOptions()), LogJournal(str(log)), state
    )


def all_report(
    job: Job,
    plan: Identity,
    windows: int = 1,
    size_bytes: int = SIZE_BYTES,
    now_s: float = RESTARTED_S,
) -> Outgoing:
    """Windows as those at the end of the log; of two iterations each."""
    sent: Outgoing = []
    for number in range(windows):
        for rank in range(RANKS):
            made = replace(
                report(rank, plan, RANKS, 10 * number, reduced_bytes=2 * size_bytes),
                seconds=2 * ITERATION_S,
                iteration_s=np.full(2, ITERATION_S),
            )
            others = np.arange(RANKS) != rank
            made.peers["sent_bytes"][others] = SIZE_BYTES
            made.peers["busy_s"][others] = ITERATION_S
            sent = job.reported(now_s + number, rank, made)
    return sent


def newest(log: Path, number: int) -> Identity:
    state = read_resume_state(str(log), PLAN)
    assert state is not None
    return identity(number, state.forest)


def events(job: Job) -> list[str]:
    return [f"{event.what}: {event.text}" for event in job.status.latest]


@pytest.mark.parametrize("cut_bytes", [0, 20, 1])
def test_a_log_goes_on_as_if_it_had_never_stopped(log: Path, cut_bytes: int) -> None:
    content = log.read_bytes()
    log.write_bytes(content[: len(content) - cut_bytes])
    left = WINDOWS - (cut_bytes > 0)
    job = restarted(log)
    plan = newest(log, 7)
    assert all_report(job, plan, windows=8) == []
    text = f"plan 7 is in force, and tuned on after the log's {left} windows"
    assert events(job) == [f"resumed: {text}"]
    assert not Path(f"{log}.1").exists()
    start, entries = records.read(str(log))
    replayed = list(replay(start, entries))
    assert len(replayed) == left + 7
    assert all(each.is_same for each in replayed)


def test_a_job_on_another_plan_begins_anew_and_the_log_is_kept(log: Path, written: bytes) -> None:
    job = restarted(log)
    assert all_report(job, first(PLAN.forest)) == []
    [event] = events(job)
    assert event.startswith("begun: plan 0 is in force, and tuned from now on")
    assert event.endswith("with nothing learned yet: the ranks have another plan than the log")
    assert Path(f"{log}.1").read_bytes() == written
    all_report(job, first(PLAN.forest), windows=2)
    start, entries = records.read(str(log))
    assert start.state is None
    assert len(list(entries)) == 2


def test_a_new_run_is_not_handed_the_plan_of_the_one_before(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    made = [at for at, line in enumerate(lines) if b'"masters"' in line and at > 0]
    # Plan 1 was in force, and is the newest.
    log.write_bytes(b"".join(lines[: made[1]]))
    assert newest(log, 1) != first(PLAN.forest)
    job = restarted(log)
    assert all_report(job, first(PLAN.forest)) == []
    assert "the ranks have another plan than the log" in events(job)[0]


@pytest.mark.parametrize(("waited_s", "is_same"), [(500.0, True), (700.0, False)])
def test_plan_0_is_of_the_same_run_only_for_some_minutes(
    log: Path, waited_s: float, *, is_same: bool
) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:9]))
    last_s = json.loads(lines[8])["now_s"]
    job = restarted(log)
    assert all_report(job, first(PLAN.forest), now_s=last_s + waited_s) == []
    [event] = events(job)
    assert event.startswith("resumed: " if is_same else "begun: ")
    assert event.endswith("8 windows" if is_same else "so that this may be another run")


def test_the_newest_plan_is_gone_on_from_however_old(log: Path) -> None:
    job = restarted(log)
    all_report(job, newest(log, 7), now_s=1e6)
    assert events(job)[0].startswith("resumed: ")


def test_a_job_with_other_buffers_begins_anew(log: Path) -> None:
    job = restarted(log)
    asked = all_report(job, newest(log, 2), size_bytes=2 * SIZE_BYTES)
    assert len(asked) == 1
    state = read_resume_state(str(log), PLAN)
    assert state is not None
    job.told(0.0, NewPlan(newest(log, 2), state.forest))
    assert all_report(job, newest(log, 2), size_bytes=2 * SIZE_BYTES) == []
    assert events(job)[-1].endswith("an iteration reduces 204 MB, and 102 MB in the log")


def test_a_plan_that_no_rank_got_is_handed_out_again(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    made = next(at for at, line in enumerate(lines) if b'"masters"' in line and at > 0)
    log.write_bytes(b"".join(lines[: made + 1]))
    job = restarted(log)
    [(rank, sent)] = all_report(job, first(PLAN.forest))
    assert rank is None
    assert isinstance(sent, NewPlan)
    assert sent.identity == newest(log, 1)
    assert "handed out again" in events(job)[0]
    # What the old plan did meanwhile tells nothing of it.
    assert all_report(job, first(PLAN.forest)) == []
    assert sum(job.status.decisions.values()) == 0
    all_report(job, sent.identity)
    assert sum(job.status.decisions.values()) == 1


def test_nothing_is_kept_where_there_is_no_log_or_an_empty_one(tmp_path: Path) -> None:
    assert read_resume_state(str(tmp_path / "no.log"), PLAN) is None
    (tmp_path / "empty.log").touch()
    assert read_resume_state(str(tmp_path / "empty.log"), PLAN) is None


@pytest.mark.parametrize(
    ("line", "change", "why"),
    [
        (0, lambda data: data["plan"]["ranks"][0].update(host="other"), "on other hosts"),
        (0, lambda data: data.update(version=2), "version 2"),
        (0, lambda data: data.update(state={"plan": 1}), "not the state of a tuner"),
        (5, lambda data: data["decision"].update(plan=3), "line 6 has another decision"),
        (5, lambda data: data["window"].update(rtt_s=[]), "not a window of 4 hosts"),
        (5, lambda data: data.update(state={"plan": 1}), "not the state of a tuner"),
        (5, lambda data: data.update(state=3), "state is 3"),
    ],
)
def test_a_log_that_cannot_be_gone_on_from_says_why(
    log: Path, line: int, change: Callable[[dict[str, Any]], None], why: str
) -> None:
    damage(log, line, change)
    with pytest.raises(UnusableLogError, match=why):
        read_resume_state(str(log), PLAN)


def test_a_file_that_is_not_a_log_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"format": "plink.plan"}\n')
    with pytest.raises(WrongUseError, match="not a log of plink autotune"):
        read_resume_state(str(path), PLAN)


def test_states_in_the_log_spare_deciding_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_WINDOWS_A_STATE", 3)
    job = restarted(log)
    all_report(job, newest(log, 2), windows=9)
    whole = read_resume_state(str(log), PLAN)
    # From the last state on, what came before need not even be decided alike.
    damage(log, 5, lambda data: data["decision"].update(plan=3))
    state = read_resume_state(str(log), PLAN)
    assert state is not None
    assert whole is not None
    assert to_json(state.tuner) == to_json(whole.tuner)
    assert state.windows == WINDOWS + 8
    start, entries = records.read(str(log))
    without_states = [replace(entry, state=None) for entry in entries]
    assert [each.decision.plan for each in replay(start, without_states)][-1] == state.tuner.plan
    assert np.array_equal(state.forest.weights, whole.forest.weights)
