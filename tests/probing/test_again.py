"""Going on with a file in which nothing, or only another quantity, is missing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from plink.cli import run as run_plink
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.measure.importing.source import import_matrix
from plink.measure.probing import request
from plink.measure.probing.tools import TOOLS
from plink.probes.options import SshOptions
from plink.probes.reach import Reached
from plink.probes.samples import BandwidthReading, MeasuringJob, RttReading, Sink
from plink.probes.ssh.connect import SshOpener
from support.plink_command import parse_command, read_json
from support.reached import reached_host

HOSTS = [reached_host(number) for number in (1, 2, 3)]


@pytest.fixture(autouse=True)
def _hosts_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "reach", lambda *_, **__: Reached(SshOpener(SshOptions()), HOSTS))
    set_tool(monkeypatch, "echo")
    set_tool(monkeypatch, "iperf3")


def set_tool(monkeypatch: pytest.MonkeyPatch, name: str, *, stop_after: int = 100) -> None:
    """A tool that needs no host, and that the user stops after so many readings."""

    def measure(job: MeasuringJob[Any], sink: Sink[Any]) -> None:
        for number, (i, j) in enumerate(chain(sorted(job.wanted), further(job))):
            if number == stop_after:
                raise KeyboardInterrupt
            if name == "iperf3":
                sink.reading(BandwidthReading(i, j, 1.0, 0))
            else:
                sink.reading(RttReading(i, j, 1, 1, dict.fromkeys((10.0, 50.0, 99.0), 5.0)))

    def further(job: MeasuringJob[Any]) -> Iterator[tuple[int, int]]:
        while rounds := job.more():
            yield from (way for met in rounds for pair in met for way in (pair, pair[::-1]))

    monkeypatch.setattr(f"plink.probes.{TOOLS[name].module}.measure", measure)


def listed(tmp_path: Path) -> str:
    path = tmp_path / "hosts"
    path.write_text("h1\nh2\nh3\n")
    return str(path)


def test_a_run_that_found_nothing_missing_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.json"
    assert run_plink(["probe", listed(tmp_path), "-o", str(out), "--count", "7"]) == 0
    data = read_json(out)
    data["rtt"] |= {"started": "2026-01-02T03:04:05+00:00", "seconds": 5.0, "notes": ["a note"]}
    document.write_bytes(str(out), document.dump(data))
    capsys.readouterr()
    assert run_plink(["probe", "--resume", str(out), "--count", "9", "--timeout", "4"]) == 0
    assert read_json(out) == data
    said = capsys.readouterr().err
    assert "6 of 6 directed pairs, nothing measured anew, 5.0 s of probing" in said


def test_another_quantity_leaves_the_first_as_it_is(tmp_path: Path) -> None:
    out, both = tmp_path / "c.json", tmp_path / "both.json"
    assert run_plink(["probe", listed(tmp_path), "-o", str(out)]) == 0
    data = read_json(out)
    data["rtt"] |= {
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 5.0,
        "notes": ["a note"],
        "failures": [{"source": "h1", "reason": "was down"}],
    }
    data["groups"] = [{"name": "a", "hosts": ["h1", "h2"]}, {"name": "b", "hosts": ["h3"]}]
    document.write_bytes(str(out), document.dump(data))
    argv = ["probe", "--resume", str(out), "-o", str(both), "--tool", "iperf3", "--duration", "3"]
    assert run_plink(argv) == 0
    after = read_json(both)
    assert after.pop("bandwidth")["options"]["duration_s"] == 3
    assert after == data == read_json(out)


@pytest.mark.parametrize(("tool", "chosen"), [("echo", ""), ("iperf3", " --tool iperf3")])
def test_the_command_that_goes_on_names_the_tool(
    tool: str,
    chosen: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "c d.json"
    set_tool(monkeypatch, tool, stop_after=2)
    assert run_plink(["probe", listed(tmp_path), "-o", str(out), "--tool", tool]) == 3
    said = capsys.readouterr().err
    assert f"interrupted; continue with: plink probe --resume '{out}'{chosen}\n" in said
    set_tool(monkeypatch, tool)
    assert run_plink(["probe", "--resume", str(out), *chosen.split()]) == 0


def test_the_command_that_goes_on_reaches_the_same_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, config = tmp_path / "c.json", tmp_path / "my config"
    config.write_text("")
    given = ["-F", str(config), "--user", "me", "--accept-new-host-keys", "--timeout", "7.5"]
    recorded = ["--count", "9", "--passes", "2", "--network", "10.0.0.0/24"]
    set_tool(monkeypatch, "echo", stop_after=2)
    assert run_plink(["probe", listed(tmp_path), "-o", str(out), *given, *recorded]) == 3
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "continue with" in line]
    plink, *words = shlex.split(line.partition("continue with: ")[2])
    assert plink == "plink"
    assert words[:3] == ["probe", "--resume", str(out)]
    context = parse_command("probe", words[1:])
    names = ("ssh_config", "user", "accept_new_host_keys", "timeout_s", "count")
    assert [context.params[name] for name in names] == [str(config), "me", True, 7.5, None]
    assert read_json(out)["way"] == {"config": str(config), "user": "me"}
    set_tool(monkeypatch, "echo")
    assert run_plink(words) == 0
    assert read_json(out)["rtt"]["options"]["count"] == 9


def test_the_outcome_as_json_is_all_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "c.json")
    assert run_plink(["probe", listed(tmp_path), "-o", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (stage,) = found.pop("stages")
    assert stage.pop("seconds") >= 0
    whole = {"tool": "echo", "asked": 6, "measured": 6, "interrupted": False}
    assert stage == {**whole, "warnings": [], "failures": []}
    assert found == {"output": out, "hosts": 3, "unreachable": [], "groups": [], "resume": None}
    set_tool(monkeypatch, "iperf3", stop_after=2)
    argv = ["probe", "--resume", out, "--tool", "iperf3", "--user", "me", "--json"]
    assert run_plink(argv) == 3
    found = json.loads(capsys.readouterr().out)
    assert found["resume"] == f"plink probe --resume {out} --tool iperf3 --user me"
    assert (found["stages"][0]["measured"], found["stages"][0]["interrupted"]) == (2, True)


def test_an_imported_matrix_outlives_what_is_measured_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "c.json"
    content = b"us,h1,h2,h3\nh1,,1,2\nh2,3,,4\nh3,5,6,\n"
    imported = import_matrix(content, "m.csv", unit=None, percentile=10.0)
    cluster_file.write_cluster(str(out), imported)
    before = read_json(out)
    assert run_plink(["probe", "--resume", str(out), "--tool", "iperf3"]) == 0
    after = read_json(out)
    assert after["rtt"] == before["rtt"]
    assert [host["address"] for host in after["hosts"]] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert "dropped" not in capsys.readouterr().err


def test_a_cluster_file_is_no_host_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.json"
    assert run_plink(["probe", listed(tmp_path), "-o", str(out)]) == 0
    capsys.readouterr()
    assert run_plink(["probe", str(out), "-o", str(tmp_path / "d.json")]) == 2
    assert capsys.readouterr().err == (
        f"error: {out}: is a file that plink wrote, not a host list\n"
        "hint: plink probe resumes a cluster file, and plink check compares with one\n"
    )
