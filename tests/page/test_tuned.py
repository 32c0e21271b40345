"""A tuned run's page: numbers of the log, in order, harmless whatever the log says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.logs import NAMES, SIZE_BYTES, THROTTLED, WINDOWS, plan_of_log, write_log
from page.test_report_command import HOSTILE, in_a_browser, needs_plotly, visible
from plink.autotune.log import records
from plink.autotune.log.history import History, history_of
from plink.autotune.tuner.interface import Action
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import bandwidth_text, bytes_text
from plink.cli import run
from plink.show.page import tuned as tuned_page
from plink.show.page.parts import Figure, Table
from plink.show.page.subject import read_inputs
from plink.show.page.tuned import tuned_sections
from support.require import require_browser


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "job.log"
    write_log(path)
    return path


@pytest.fixture
def tuned(log: Path) -> History:
    return history_of([records.read(str(log))])


def figure_of(about: History) -> Figure:
    [figure] = [
        part
        for section in tuned_sections(about, ["job.log"])
        for part in section.parts
        if isinstance(part, Figure)
    ]
    return figure


def traces(figure: Figure, axis: str | None = None) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in figure.traces if each.get("yaxis") == axis}


def test_a_history_is_what_the_log_has(log: Path, tuned: History) -> None:
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    assert tuned.windows == len(lines) == WINDOWS
    assert tuned.at_s.tolist() == [line["now_s"] for line in lines]
    for host in range(4):
        sent = [sum(line["window"]["sent_bytes"][4 * host : 4 * host + 4]) for line in lines]
        assert tuned.sent_bytes[:, host] == pytest.approx(sent)
    acted = [line["decision"] for line in lines if line["decision"]["action"] != "wait"]
    assert [change.reason for change in tuned.changes] == [each["reason"] for each in acted]
    assert [change.plan for change in tuned.new_plans] == [1, 2]


def test_what_was_believed_falls_with_the_throttle(tuned: History) -> None:
    quicktune = tuned.changes[0].window
    assert quicktune in THROTTLED
    rates = tuned.rates_bytes_s
    assert np.isnan(rates[0]).all()
    assert rates[quicktune, 0] == pytest.approx(0.4 * rates[quicktune, 1], rel=0.1)
    before_s, after_s = tuned.around(tuned.changes[0])
    assert before_s is not None
    assert after_s is not None
    assert after_s < 0.8 * before_s


def test_a_log_with_other_decisions_says_where_beliefs_end(tmp_path: Path, log: Path) -> None:
    lines = log.read_text().splitlines()
    data = json.loads(lines[20])
    data["decision"]["action"] = "reprobe"
    lines[20] = json.dumps(data)
    other = tmp_path / "other.log"
    other.write_text("\n".join(lines) + "\n")
    about = history_of([records.read(str(other))])
    assert not about.is_replayed
    assert np.isfinite(about.rates_bytes_s[18]).all()
    assert np.isnan(about.rates_bytes_s[19:]).all()
    assert about.changes[1].action is Action.REPROBE
    assert "other decisions" in str(tuned_sections(about, ["other.log"])[1].parts[0])


def test_parts_of_a_log_are_one_run(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    write_log(path, max_bytes=70_000)
    last = read_inputs([str(path)])
    # In the order of time, however they are given.
    both = read_inputs([str(path), f"{path}.1"])
    assert isinstance(last, History)
    assert isinstance(both, History)
    assert (last.is_cut, both.is_cut) == (True, False)
    assert last.windows < both.windows == WINDOWS
    assert (np.diff(both.at_s) > 0.0).all()
    assert both.is_replayed


def test_a_log_that_was_begun_anew_is_of_the_same_run(tmp_path: Path, log: Path) -> None:
    lines = log.read_text().splitlines()
    start = json.loads(lines[0])
    start["plan"]["groups"] = [{"name": "g0", "hosts": ["n0", "n1"]}]
    start["plan"]["size_bytes"] = 2 * SIZE_BYTES
    entries = [json.loads(line) for line in lines[1:]]
    for entry in entries:
        entry["now_s"] += 1000.0
    later = tmp_path / "later.log"
    later.write_text("".join(f"{json.dumps(line)}\n" for line in (start, *entries)))
    both = read_inputs([str(later), str(log)])
    assert isinstance(both, History)
    assert both.windows == 2 * WINDOWS
    assert [change.plan for change in both.new_plans] == [1, 2, 3, 4, 5]
    begun = both.new_plans[2]
    assert (begun.what, begun.window) == ("begun anew", WINDOWS - 1)
    # With the one plan, and with the other: no window of either is taken for the other's.
    assert both.plans[[WINDOWS - 1, WINDOWS]].tolist() == [2, 3]
    assert both.around(begun) == tuple(
        np.median(both.iteration_s[windows])
        for windows in (range(WINDOWS - 3, WINDOWS), range(WINDOWS, WINDOWS + 3))
    )
    figure = traces(figure_of(both))
    assert figure["begun anew"]["text"] == ["3"]
    assert figure["average with each plan"]["x"].count(None) == 6
    assert both.throughput_bytes_s[[0, WINDOWS]] * both.iteration_s[[0, WINDOWS]] == pytest.approx(
        [SIZE_BYTES, 2 * SIZE_BYTES]
    )


def test_the_figure_shows_throughput_plans_and_loads(tuned: History) -> None:
    figure = figure_of(tuned)
    above = traces(figure)
    assert above["throughput"]["y"] == pytest.approx(
        SIZE_BYTES / tuned.iteration_s / 1e6, rel=0.001
    )
    marks = above["quicktune"]
    assert marks["text"] == ["1", "2"]
    assert len(figure.layout["shapes"]) == 2
    assert [shape["x0"] for shape in figure.layout["shapes"]] == marks["x"]
    averages = above["average with each plan"]
    assert averages["x"].count(None) == 3
    for axis, values in (("y2", tuned.sent_bytes / 1e6), ("y3", tuned.rates_bytes_s * 8e-9)):
        lines = traces(figure, axis)
        assert list(lines) == [f"{host}: {name}" for host, name in enumerate(NAMES)]
        # Told apart without their colours.
        assert len({(one["line"]["dash"], one["marker"]["symbol"]) for one in lines.values()}) == 4
        for host, line in enumerate(lines.values()):
            known = [np.nan if y is None else y for y in line["y"]]
            assert known == pytest.approx(values[:, host], rel=0.001, nan_ok=True)


def test_a_table_says_what_each_host_sends_and_is_believed_to_carry(tuned: History) -> None:
    [hosts] = [each for each in tuned_sections(tuned, ["job.log"]) if each.anchor == "hosts"]
    [table] = hosts.parts
    assert isinstance(table, Table)
    assert [row[0] for row in table.rows] == [f"{host} n{host}" for host in range(4)]
    assert {row[1] for row in table.rows} == {bytes_text(1.5 * SIZE_BYTES)}
    rates = tuned.rates_bytes_s[:, 0]
    least, last = (bandwidth_text(8e-9 * rate) for rate in (np.nanmin(rates), rates[-1]))
    assert table.rows[0][3:] == (least, last)


def test_many_hosts_have_lines_where_much_changes_and_a_range(
    tuned: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuned_page, "MAX_HOSTS", 2)
    assert 0 in tuned_page.shown_hosts(tuned)
    figure = figure_of(tuned)
    assert list(traces(figure, "y2")) == [
        "range of the other hosts",
        *(f"{host}: n{host}" for host in tuned_page.shown_hosts(tuned)),
    ]
    assert "have lines of their own" in figure.caption


def test_a_long_run_is_thinned(tuned: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuned_page, "MAX_POINTS", 9)
    monkeypatch.setattr(tuned_page, "MAX_MARKED", 1)
    line = traces(figure_of(tuned))["throughput"]
    first = SIZE_BYTES / np.median(tuned.iteration_s[:5]) / 1e6
    assert (len(line["y"]), line["y"][0]) == (9, pytest.approx(first, rel=0.001))


def test_plotly_knows_every_property_and_a_log_without_windows_has_a_page(tuned: History) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="needs plotly")
    figure = figure_of(tuned)
    text = re.sub(
        r"var\(--\w+\)", "#888", json.dumps({"data": figure.traces, "layout": figure.layout})
    )
    graph_objects.Figure(json.loads(text))
    nothing = np.empty(0)
    empty = replace(
        tuned,
        at_s=nothing,
        iteration_s=nothing,
        size_bytes=nothing,
        plans=nothing,
        sent_bytes=np.empty((0, 4)),
        rates_bytes_s=np.empty((0, 4)),
        changes=[],
    )
    assert [section.anchor for section in tuned_sections(empty, ["job.log"])] == [
        "overview",
        "decisions",
        "hosts",
        "origin",
    ]


@pytest.mark.needs("browser")
def test_a_browser_draws_what_a_hostile_log_says_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_plotly()
    require_browser()
    monkeypatch.chdir(tmp_path)
    write_log(Path("job.log"), plan=plan_of_log([*HOSTILE, "n3"]))
    said = "<script>alert(3)</script>"
    text = Path("job.log").read_text().replace("iterations take +", f"{said} +")
    Path("job.log").write_text(text)
    assert run(["report", "job.log", "-o", "r.html"]) == 0
    drawn, console = in_a_browser(tmp_path, "r.html")
    assert console == []
    assert 'data-drawn="yes"' in drawn[: drawn.index("<head")]
    body = drawn[drawn.index("<body") : drawn.index('<script type="application/json"')]
    assert body.count('class="modebar-container"') == 1
    assert not re.search("<(script|img|b)\\b", body)
    assert said in visible(body)
    for name in HOSTILE:
        assert name in visible(body)


def test_show_prints_decisions(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(log), "--width", "120"]) == 0
    out = capsys.readouterr().out
    assert "2 new plans" in out
    assert re.search(r"1 quicktune +60\.0 s +1 .*slow hosts: n0 at", " ".join(out.split()))
    assert run(["show", str(log), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [each["plan"] for each in shown["decisions"]] == [1, 2]
    assert shown["balance"] == pytest.approx(1.0, abs=0.05)


def test_files_that_do_not_belong_together_are_refused(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.log"
    other.write_text(log.read_text().replace('"host":"n0"', '"host":"m0"'))
    order = tmp_path / "o.json"
    order.write_text('{"format": "plink.order"}')
    for second, said in ((other, "are logs of different jobs"), (order, "but other files are not")):
        with pytest.raises(WrongUseError, match=said):
            read_inputs([str(log), str(second)])
    assert run(["show", str(log), "--percentile", "50"]) == 2
    assert "--percentile applies only to cluster files" in capsys.readouterr().err
