"""Logs of the tuner: what is read is what was written, replays decide alike, lies are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.logs import damage, write_log
from plink.autotune.log import records
from plink.autotune.log.replay import replay, tuner_of
from plink.autotune.tuner.snapshot import WindowRecord, to_json
from plink.base.errors import EXIT_CHANGED, EXIT_WRONG_USE, WrongUseError
from plink.base.replacing import replace
from plink.cli import run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    assert write_log(path) == 2
    return path


@pytest.fixture
def on_trial(tmp_path: Path) -> Path:
    """A log that begins in a plan's trial, after a window of it."""
    whole, path = tmp_path / "whole.log", tmp_path / "on-trial.log"
    write_log(whole)
    start, entries = records.read(str(whole))
    tuner = tuner_of(start.plan, start.options)
    lines = iter(whole.read_bytes().splitlines(keepends=True)[1:])
    while tuner.trial is None or not tuner.recent:
        entry = next(entries)
        tuner.decide(entry.now_s, entry.window)
        next(lines)
    records.LogWriter(str(path), replace(start, state=to_json(tuner)))
    path.write_bytes(path.read_bytes() + b"".join(lines))
    return path


def test_a_replay_decides_the_same(log: Path) -> None:
    start, entries = records.read(str(log))
    replayed = list(replay(start, entries))
    assert len(replayed) == 45
    assert all(each.is_same for each in replayed)
    assert sum(each.decision.forest is not None for each in replayed) == 2


# Lengths at which logs begin while learning, watching, on trial, and in between.
@pytest.mark.parametrize("max_bytes", [6_000, 15_000, 25_000, 32_000])
def test_a_log_that_was_cut_decides_the_same(tmp_path: Path, max_bytes: int) -> None:
    path = tmp_path / "job.log"
    write_log(path, max_bytes)
    seen = 0
    for part in (f"{path}.1", str(path)):
        start, entries = records.read(part)
        replayed = list(replay(start, entries))
        assert all(each.is_same for each in replayed), part
        seen += len(replayed)
    assert 0 < seen <= 45
    assert start.state is not None
    assert sum(Path(part).stat().st_size for part in (f"{path}.1", path)) < 3 * max_bytes + 30_000


def test_a_last_line_that_was_cut_is_left_out(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-20])
    start, entries = records.read(str(log))
    assert len(list(replay(start, entries))) == 44


@pytest.mark.parametrize(
    ("line", "change", "said"),
    [
        (0, lambda data: data.update(version=9), "version 9"),
        (0, lambda data: data.update(format="plink.plan"), "expected a plink.autotune file"),
        (0, lambda data: data["plan"].update(ranks=[]), "plan.ranks: "),
        (0, lambda data: data["options"].update(alike="much"), "alike is 'much'"),
        (0, lambda data: data["options"].pop("alike"), "missing required field `alike`"),
        (0, lambda data: data.update(state={"plan": 1}), "not the state of a tuner"),
        (3, lambda data: data["window"].update(rtt_s=[1.0]), "line 4: window is "),
        (3, lambda data: data["window"].update(busy_s=[-1.0] * 16), "window.busy_s[0] is "),
        (3, lambda data: data["window"].pop("plan"), "line 4: window: "),
        (3, lambda data: data["window"].update(rtt_s=[10**400] * 4), "window.rtt_s[0] is "),
        (3, lambda data: data["decision"].update(action="dance"), "action is 'dance'"),
        (3, lambda data: data.update(now_s=None), "now_s is None"),
    ],
)
def test_a_damaged_log_is_refused(
    log: Path, line: int, change: Callable[[dict[str, Any]], None], said: str, capsys: Any
) -> None:
    damage(log, line, change)
    assert run(["autotune", "replay", str(log)]) == EXIT_WRONG_USE
    assert said in capsys.readouterr().err


def test_an_infinite_number_of_bytes_is_refused() -> None:
    record = WindowRecord(0, [1.0], [0.0], [0.0], [0.0], [0.0], {"all-reduce": math.inf})
    with pytest.raises(ValueError, match="finite"):
        record.to_window(1)


def at(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one value in a state."""

    def change(state: dict[str, Any]) -> None:
        place: Any = state
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def turn(**values: Any) -> dict[str, Any]:
    return {"now_s": 1.0, "host": 0, "direction": 1, "rate_bytes_s": 1e9, **values}


def flow(**values: Any) -> dict[str, Any]:
    usual = {"sender": 0, "receiver": 1, "rate_bytes_s": 1e6, "retransmissions": 9, "seen_s": 1.0}
    return {**usual, **values}


MOVE = {
    "masters": {"of_groups": [1.0], "of_hosts": [0.25] * 4},
    "giver": 0,
    "taker": 1,
    "doublings": 0,
    "ratio": 2.0,
}


@pytest.mark.parametrize(
    "change",
    [
        at("baseline", value="much"),
        at("baseline", value={"median_s": "0.3 s", "deviation": 0.0}),
        at("baseline", value={"median_s": 0.0, "deviation": 0.0}),
        at("baseline", value={"median_s": 0.3, "deviation": -1.0}),
        at("trial", "before_s", value=0),
        at("trial", "move", value={**MOVE, "taker": 4}),
        at("trial", "move", value={**MOVE, "doublings": 5000}),
        at("masters", "of_hosts", value=[0.0] * 4),
        at("turns", value=[turn(host=4)]),
        at("turns", value=[turn(host=-1)]),
        at("turns", value=[turn(rate_bytes_s="fast")]),
        at("turns", value=[turn(direction="up")]),
        at("slow_flows", value=[flow(receiver=4)]),
        at("slow_flows", value=[flow(rate_bytes_s=0)]),
        at("slow_flows", value=[flow(retransmissions="many")]),
        at("recent", 0, "iteration_s", value=[0.0]),
        at("recent", 0, "plan", value=1.5),
        at("moves", value="none"),
    ],
)
def test_a_state_with_which_no_tuner_could_decide_is_refused(
    on_trial: Path, change: Callable[[dict[str, Any]], None], capsys: Any
) -> None:
    damage(on_trial, 0, lambda data: change(data["state"]))
    for command in (["autotune", "replay"], ["report", "-o", "never.html"]):
        assert run([*command, str(on_trial)]) == EXIT_WRONG_USE
        assert "Traceback" not in capsys.readouterr().err


def test_a_state_with_memories_is_none_to_refuse(on_trial: Path) -> None:
    damage(on_trial, 0, lambda data: at("turns", value=[turn()])(data["state"]))
    damage(on_trial, 0, lambda data: at("slow_flows", value=[flow()])(data["state"]))
    damage(on_trial, 0, lambda data: at("trial", "move", value=MOVE)(data["state"]))
    start, entries = records.read(str(on_trial))
    assert len(list(replay(start, entries))) > 0


def test_windows_without_time_are_waited_out(log: Path, capsys: Any) -> None:
    for line in range(1, 4):
        damage(log, line, lambda data: data["window"].update(iteration_s=[0.0, 0.0]))
    assert run(["autotune", "replay", str(log), "--all"]) == EXIT_CHANGED
    assert capsys.readouterr().out.count("wait: a window in which nothing was sent") == 3


def test_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(WrongUseError, match="is empty"):
        records.read(str(path))


def test_a_file_of_another_kind_is_called_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"format": "plink.cluster", "version": 1}, indent=1))
    with pytest.raises(WrongUseError, match=r"expected a plink\.autotune file, found a 'plink\.cl"):
        records.read(str(path))


def test_the_command_prints_changes_with_their_reasons(log: Path, capsys: Any) -> None:
    assert run(["autotune", "replay", str(log)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 2
    assert "plan 1  quicktune: iterations take +" in lines[0]
    assert "slow hosts: n0 at" in lines[0]
    assert "plan 2  quicktune: iterations take -" in lines[1]
    assert "45 measured windows" in err
    assert "2 new plans" in err


def test_the_command_prints_json(log: Path, capsys: Any) -> None:
    assert run(["autotune", "replay", str(log), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [each["plan"] for each in printed if each["is_new_plan"]] == [1, 2]
    assert all(each["is_as_logged"] for each in printed)


def test_other_decisions_are_told(log: Path, capsys: Any) -> None:
    damage(log, 20, lambda data: data["decision"].update(reason="because"))
    assert run(["autotune", "replay", str(log)]) == EXIT_CHANGED
    err = capsys.readouterr().err
    assert (
        "decisions differ from the log: 1 of 45 decisions, the first in line 21: wait, because"
        in err
    )


def test_json_has_numbers_and_names(log: Path, capsys: Any) -> None:
    assert run(["autotune", "replay", str(log), "--json"]) == 0
    decided = json.loads(capsys.readouterr().out)
    for each in decided:
        assert each["host_names"] == [f"n{host}" for host in each["hosts"]]
    acted = [each["reason"] for each in decided if each["is_new_plan"]]
    assert "slow hosts: n0 at" in acted[0]
