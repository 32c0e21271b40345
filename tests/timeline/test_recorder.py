"""What ranks note is written, by a thread that nobody waits for, within bounds."""

from __future__ import annotations

import json
import logging
import threading
import time
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.training.control.requests import Request, Tensor
from plink.training.timeline import recorder
from plink.training.timeline.lines import Head
from plink.training.timeline.merging import merge_ranks
from plink.training.timeline.place import file_of
from plink.training.timeline.reading import read_ranks
from plink.training.timeline.recorder import Recorder

REQUEST = Request("x", (Tensor("float32", (10,)),))
HEAD = Head(0, 1, "a group", "a clock", 0.0)


def run_one(recording: Recorder, times: int = 1) -> None:
    for _ in range(times):
        recording.announced((REQUEST,))
        number = recording.agreed((REQUEST,))
        recording.begun(number)
        recording.ended(number)


@pytest.mark.parametrize(
    ("given", "group", "expected"),
    [
        ("traces", "", "traces/rank3.json"),
        ("traces/", "f00d", "traces/f00d/rank3.json"),
        ("a/job.json", "", "a/job-rank3.json"),
        ("a/job-{rank}.json", "", "a/job-3.json"),
        ("a/{rank}.json", "f00d", "a/3-f00d.json"),
        ("traces/{rank}", "", "traces/3/rank3.json"),
    ],
)
def test_a_place_is_a_folder_or_a_file(given: str, group: str, expected: str) -> None:
    assert file_of(given, 3, group) == Path(expected)


def test_a_place_without_a_name_is_refused() -> None:
    with pytest.raises(WrongUseError, match="has no name"):
        file_of("  ", 0)


def test_two_groups_do_not_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "rank0.json"
    recording = Recorder(path, HEAD)
    with pytest.raises(OSError, match="another group"):
        Recorder(path, HEAD)
    recording.close()
    Recorder(path, HEAD).close()


def test_what_happened_can_be_read_while_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rank0.json"
    recording = Recorder(path, HEAD)
    run_one(recording, 20)
    until_s = time.monotonic() + 20.0
    while b'"buffer":19' not in path.read_bytes():
        assert time.monotonic() < until_s
        time.sleep(0.01)
    assert len(merge_ranks(read_ranks([("0", path.read_bytes())])).names) == 20
    run_one(recording)
    recording.close()
    events = json.loads(path.read_bytes())
    assert sum(event["ph"] == "B" for event in events) == 3 * 21
    # Nothing overlaps on a row.
    rows: dict[int, int] = {}
    for event in events:
        if event["ph"] in "BE":
            rows[event["tid"]] = rows.get(event["tid"], 0) + (1 if event["ph"] == "B" else -1)
            assert 0 <= rows[event["tid"]] <= 1


def test_files_stay_within_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only this test's thread writes until the end.
    monkeypatch.setattr(recorder, "_GATHER_S", 1000.0)
    path = tmp_path / "rank0.json"
    recording = Recorder(path, HEAD, max_bytes=40_000)
    for _ in range(30):
        run_one(recording, 10)
        recording._write()
    recording.close()
    sizes_bytes = [file.stat().st_size for file in tmp_path.iterdir()]
    assert len(sizes_bytes) == 2
    assert sum(sizes_bytes) < 50_000
    contents = [(file.name, file.read_bytes()) for file in tmp_path.iterdir()]
    timeline = merge_ranks(read_ranks(contents))
    assert timeline.buffers[-1] == 299
    assert len(timeline.names) > 50


def test_what_comes_too_fast_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_MOST_EVENTS", 42)
    monkeypatch.setattr(recorder, "_GATHER_S", 10.0)
    path = tmp_path / "rank0.json"
    recording = Recorder(path, HEAD)
    run_one(recording, 20)
    recording.close()
    timeline = merge_ranks(read_ranks([("0", path.read_bytes())]))
    assert (len(timeline.names), timeline.missed) == (11, 38)
    assert not timeline.pending


def test_a_full_disk_ends_the_timeline_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recording = Recorder(tmp_path / "rank0.json", HEAD)
    monkeypatch.setattr(recording._file, "write", _no_room)
    with caplog.at_level(logging.WARNING, "plink.timeline"):
        run_one(recording)
        recording.close()
    run_one(recording)
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'rank0.json'}: the timeline ends here: No space left on device"
    ]


def test_no_thread_wakes_while_nothing_happens(tmp_path: Path) -> None:
    recording = Recorder(tmp_path / "rank0.json", HEAD)
    assert [thread.name for thread in threading.enumerate()].count("plink-timeline") == 1
    writes: list[int] = []
    recording._write = lambda: writes.append(1)  # type: ignore[method-assign]
    time.sleep(0.3)
    assert writes == []
    recording.close()
    assert "plink-timeline" not in [thread.name for thread in threading.enumerate()]


def _no_room(_: object) -> bool:
    raise OSError(28, "No space left on device")
