"""Groups in a terminal: long lines go on under where their text began."""

from __future__ import annotations

from pathlib import Path

import pytest

from page.subjects import racks
from plink.cli import run
from plink.formats import cluster
from plink.show.groups import wrap_line

NAMES = [f"gpu-worker-eu-west-1a-{host:04d}" for host in range(16)]


def test_members_of_a_group_stand_under_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", racks([8, 8], names=NAMES))
    assert run(["group", "c.json"]) == 0
    piped = capsys.readouterr().out.splitlines()
    # A line a group where no terminal is.
    assert sum(name in line for line in piped for name in NAMES) == 16
    assert len([line for line in piped if any(name in line for name in NAMES)]) == 2
    assert run(["show", "c.json", "--width", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    [header] = [line for line in lines if line.endswith("members")]
    rows = lines[lines.index(header) + 1 :]
    members = [line for line in rows if any(name in line for name in NAMES)]
    assert len(members) > 2
    assert max(map(len, lines)) <= 100
    for line in members:
        first = min(line.index(name) for name in NAMES if name in line)
        assert first == header.index("members")


def test_words_are_never_broken_and_a_narrow_terminal_indents_less() -> None:
    line = "g1  " + " ".join(NAMES[:3])
    assert wrap_line(line, None, 4) == [line]
    assert wrap_line(line, 60, 50) == [f"g1  {NAMES[0]} {NAMES[1]}", f"    {NAMES[2]}"]
    assert [part.split()[-1] for part in wrap_line(line, 10, 4)][-3:] == NAMES[:3]
