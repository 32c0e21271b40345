"""Ranks write timelines of what they agree on, and these tell what happened."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import plink.torch
from plink.training.timeline.merging import Timeline, merge_ranks
from plink.training.timeline.reading import read_ranks
from plink.training.timeline.summary import summary_of
from pytorch import timeline_checks as checks
from pytorch.processes import results, running
from support.plink_command import plink_here
from support.schemas import fault

pytestmark = pytest.mark.timing

LAYERS, ITERATIONS, LATE = 12, 8, 2


def read(folder: Path) -> Timeline:
    files = sorted(folder.glob("*.json"))
    return merge_ranks(read_ranks((str(file), file.read_bytes()) for file in files))


def test_the_late_rank_is_named_first(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    control = plink.torch.Control()
    results(
        checks.iterating,
        3,
        tmp_path,
        LAYERS,
        ITERATIONS,
        LATE,
        environment={"PLINK_TIMELINE": str(folder)},
        pg_options=plink.torch.Options(control=control),
    )
    timeline = read(folder)
    assert sum(name.startswith("layer") for name in timeline.names) == LAYERS * ITERATIONS
    first = summary_of(timeline).ranks[0]
    assert (first.rank, timeline.pending, timeline.missed) == (LATE, [], 0)
    assert first.last == LAYERS * ITERATIONS
    assert first.held_up_us > ITERATIONS * 1e6 * 0.75 * checks.LATE_S
    joined = timeline.names.index("not by all")
    assert np.isfinite(timeline.announced_us[joined]).tolist() == [True, False, False]
    buffer = timeline.buffer_of[joined]
    for before, after in (
        (timeline.released_us, timeline.begun_us),
        (timeline.begun_us, timeline.ended_us),
    ):
        assert (before[buffer] <= after[buffer]).all()
    # A group of some ranks has a folder of its own.
    (part,) = (file for file in folder.iterdir() if file.is_dir())
    assert "in the part" in read(part).names
    for file in folder.glob("*.json"):
        events = json.loads(file.read_bytes())
        assert [found for event in events if (found := fault("timeline", event))] == []
    page = tmp_path / "page.html"
    done = plink_here("report", *folder.glob("*.json"), "-o", page, "--json")
    assert "Rank 2 was the last to announce" in done.stdout
    assert re.search(r'aria-label="1[2-4] collectives of an iteration', page.read_text())


def test_a_rank_that_was_killed_leaves_what_it_had_written(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    control = plink.torch.Control(timeline=str(folder / "job-{rank}.json"))
    with running(
        checks.killed,
        2,
        tmp_path,
        str(folder / "job-1.json"),
        pg_options=plink.torch.Options(control=control),
    ) as ranks:
        assert "rank 1" in ranks[0].hear()
        ranks[0].process.join(20)
    assert sorted(file.name for file in folder.iterdir()) == ["job-0.json", "job-1.json"]
    assert not (folder / "job-1.json").read_text().endswith("]\n")
    timeline = read(folder)
    assert "by both" in timeline.names
    waited_for = {each.name: list(each.announced_by) for each in timeline.pending}
    assert waited_for["of rank 1"] == [1]
    done = plink_here("timeline", *folder.glob("*.json"), "--width", 200)
    assert "'of rank 1' was announced by rank 1, not by rank 0" in done.stdout


def test_a_timeline_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    control = plink.torch.Control(timeline=str(file / "folder"))
    options = plink.torch.Options(control=control)
    found = results(checks.iterating, 2, tmp_path, 2, 1, 1, pg_options=options)
    assert found == [None, None]
