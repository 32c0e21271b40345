"""Files of ranks are put together as what happened, whatever their clocks, and however they end."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.show.timelines import latest_text
from plink.training.timeline.iterations import typical
from plink.training.timeline.merging import Timeline, merge_ranks
from plink.training.timeline.one_trace import one_trace
from plink.training.timeline.reading import read_ranks
from plink.training.timeline.summary import NOBODY, lateness, summary_of
from timeline.files import Truth, contents_of, write_timelines, written


@st.composite
def truths(draw: st.DrawFn, most_hosts: int = 4) -> Truth:
    """Names that come again, ranks on some hosts, and some that have joined at the end."""
    ranks = draw(st.integers(2, 6))
    count_hosts = draw(st.integers(1, min(ranks, most_hosts)))
    hosts = [rank % count_hosts for rank in range(ranks)]
    together = draw(st.integers(1, 3))
    layers = draw(st.integers(1, 3)) * together
    iterations = draw(st.integers(1, 3))
    announced_ns: list[list[int | None]] = []
    begin_ns = 10**12
    for iteration in range(iterations):
        joined = draw(st.integers(0, ranks - 2)) if iteration == iterations - 1 else 0
        for _ in range(layers):
            at_ns = draw(st.lists(st.integers(0, 5_000_000), min_size=ranks, max_size=ranks))
            announced_ns.append(
                [None if rank < joined else begin_ns + each for rank, each in enumerate(at_ns)]
            )
        begin_ns += 20_000_000
    return Truth(
        announced_ns,
        [f"layer {layer}" for _ in range(iterations) for layer in range(layers)],
        hosts,
        draw(st.lists(st.integers(-(10**11), 10**11), min_size=count_hosts, max_size=count_hosts)),
        together,
        draw(st.lists(st.integers(1_000, 400_000), min_size=ranks, max_size=ranks)),
    )


def timeline_of(truth: Truth, max_bytes: int = 1 << 30) -> Timeline:
    with tempfile.TemporaryDirectory() as folder:
        return merge_ranks(read_ranks(contents_of(written(Path(folder), truth, max_bytes))))


@settings(max_examples=15, deadline=None)
@given(truths())
def test_clocks_are_apart_as_far_as_is_said(truth: Truth) -> None:
    clocks = timeline_of(truth).clocks
    ahead_us = np.array([truth.ahead_ns[host] * 1e-3 for host in truth.hosts])
    # Files tell tenths of a microsecond.
    error_us = np.nan_to_num(clocks.error_us, nan=0.0)
    assert (abs(clocks.ahead_us - (ahead_us - ahead_us[0])) <= error_us + 0.2).all()
    # Of a host whose ranks announced nothing only its own clock says, which here is right.
    silent = np.isnan(timeline_of(truth).announced_us).all(axis=0)
    is_told = [
        not any(silent[np.array(truth.hosts) == each].all() for each in (host, truth.hosts[0]))
        for host in truth.hosts
    ]
    assert (np.isfinite(clocks.error_us) | ~np.array(is_told)).all()
    assert clocks.drifted_us <= 0.2


@settings(max_examples=15, deadline=None)
@given(truths())
def test_who_is_said_to_be_last_was_last(truth: Truth) -> None:
    timeline = timeline_of(truth)
    late = lateness(timeline)
    one_host = len(set(truth.hosts)) == 1
    assert len(timeline.names) == len(truth.names)
    for place, (last, late_us) in enumerate(zip(late.last, late.late_us, strict=True)):
        # Those of one buffer stand in the order in which the first rank announced them.
        members = [
            each
            for each, name in enumerate(truth.names)
            if name == timeline.names[place]
            and each // truth.together == timeline.buffers[timeline.buffer_of[place]]
        ]
        rank, true_us = truth.last(members[0])
        if one_host:
            assert (last == NOBODY) == (true_us < 0.1) or true_us < 0.5
        if last != NOBODY:
            error_us = 2.0 * float(np.nanmax(timeline.clocks.error_us))
            assert last == rank or true_us < 0.5
            assert abs(late_us - true_us) <= error_us + 0.5


@settings(max_examples=10, deadline=None)
@given(truths(), st.data())
def test_what_was_written_before_a_rank_was_killed_is_read(
    truth: Truth, data: st.DataObject
) -> None:
    whole = timeline_of(truth)
    with tempfile.TemporaryDirectory() as folder:
        contents = contents_of(written(Path(folder), truth))
    head_bytes = contents[-1][1].index(b"process_sort_index")
    cut = data.draw(st.integers(head_bytes, len(contents[-1][1])))
    contents[-1] = (contents[-1][0], contents[-1][1][:cut])
    timeline = merge_ranks(read_ranks(contents))
    assert timeline.names == whole.names
    known, all_known = np.isfinite(timeline.agreed_us), np.isfinite(whole.agreed_us)
    assert (known[:, :-1] == all_known[:, :-1]).all()
    assert not (known & ~all_known).any()
    assert [each for each in timeline.pending if truth.ranks - 1 not in each.announced_by] == []


@settings(max_examples=8, deadline=None)
@given(truths())
def test_a_merged_trace_says_the_same_as_its_files(truth: Truth) -> None:
    with tempfile.TemporaryDirectory() as folder:
        contents = contents_of(written(Path(folder), truth))
    timeline = merge_ranks(read_ranks(contents))
    trace = b"".join(one_trace(contents, timeline))
    assert len(json.loads(trace)) > len(truth.names) * 2
    again = merge_ranks(read_ranks([("one", trace)]))
    assert again.names == timeline.names
    np.testing.assert_allclose(again.announced_us, timeline.announced_us, atol=0.3)
    np.testing.assert_allclose(again.ended_us, timeline.ended_us, atol=0.3)
    np.testing.assert_array_equal(again.clocks.error_us, timeline.clocks.error_us)
    assert summary_of(again).ranks[0].rank == summary_of(timeline).ranks[0].rank


def test_a_file_that_went_on_in_another_is_read_as_one(tmp_path: Path) -> None:
    iterations, ranks = 60, 2
    announced_ns = [
        [10**9 + i * 1_000_000 + 20_000 * rank for rank in range(ranks)] for i in range(iterations)
    ]
    truth = Truth(announced_ns, ["x"] * iterations, [0, 0], [0])
    whole = merge_ranks(read_ranks(contents_of(written(tmp_path, truth))))
    assert len(list(tmp_path.iterdir())) == 2
    paths = written(tmp_path, truth, max_bytes=48_000)
    assert [path.name for path in paths] == [
        f"rank{rank}{part}.json" for rank in range(ranks) for part in (".before", "")
    ]
    assert all(path.stat().st_size < 30_000 for path in paths)
    timeline = merge_ranks(read_ranks(contents_of(paths)))
    assert 20 < len(timeline.names) <= len(whole.names)
    kept = len(timeline.names)
    np.testing.assert_allclose(
        np.diff(timeline.announced_us, axis=0), np.diff(whole.announced_us[-kept:], axis=0)
    )
    assert set(lateness(timeline).last) <= {1, NOBODY}
    assert not timeline.pending


def test_what_hangs_is_told_with_who_did_not_announce_it(tmp_path: Path) -> None:
    paths = write_timelines(tmp_path, 3)
    for path in paths[:2]:
        content = path.read_text().removesuffix("\n]\n")
        rank = int(path.stem[-1])
        path.write_text(
            f'{content},\n{{"ph":"B","cat":"wait","name":"late","pid":{rank},"tid":3,'
            '"ts":2000000.0,"args":{"bytes":4}}'
        )
    timeline = merge_ranks(read_ranks(contents_of(paths)))
    assert [(each.name, list(each.announced_by)) for each in timeline.pending] == [("late", [0, 1])]


def test_the_iteration_that_is_drawn_is_a_usual_one(tmp_path: Path) -> None:
    timeline = merge_ranks(read_ranks(contents_of(write_timelines(tmp_path, 3))))
    iteration = typical(timeline)
    assert iteration is not None
    assert (iteration.of, len(iteration.collectives)) == (3, 4)
    assert iteration.number in (1, 2)
    assert iteration.end_us - iteration.begin_us < 6_000


def test_time_of_waiting_and_of_reducing_is_told(tmp_path: Path) -> None:
    summary = summary_of(merge_ranks(read_ranks(contents_of(write_timelines(tmp_path, 3)))))
    assert (summary.ranks[0].rank, summary.ranks[0].last) == (0, 12)
    for rank in summary.ranks:
        # Six buffers of 0.3 ms each.
        assert rank.reduced_us == pytest.approx(1800.0, abs=1.0)
        assert rank.waited_us > (0.0 if rank.rank == 0 else 6 * 600.0)
    assert (summary.buffers.count, summary.buffers.most_collectives) == (6, 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"group":"a group"', '"group":"another"'), "different runs"),
        (lambda text: text.replace('"version":1', '"version":9'), "version 9"),
        (lambda text: text.replace('"rank":1', '"rank":0'), "both of rank 0"),
        (lambda text: text.replace('"ts":', '"ts":"x","t":'), "line 7: ts is"),
        (lambda text: text.replace('"pid":1', '"pid":5'), "no event of rank 1"),
        (lambda text: text.replace('"bytes":', '"bytes":-'), "args.bytes is -"),
        (
            lambda text: text.replace('"buffer":', f'"collectives":{10**20},"buffer":'),
            "collectives",
        ),
        (lambda text: text.replace("plink.timeline", "plink.other"), "is no timeline"),
        (lambda _: "{}", "is no timeline"),
        (lambda text: text.replace("\n{", "\n{{", 9), "not valid JSON"),
    ],
)
def test_files_that_do_not_belong_together_are_refused_in_a_sentence(
    change: object, told: str, tmp_path: Path
) -> None:
    assert callable(change)
    paths = write_timelines(tmp_path, 2)
    paths[1].write_text(change(paths[1].read_text()))
    with pytest.raises(WrongUseError, match=told):
        read_ranks(contents_of(paths))


def test_by_the_graph_clocks_are_bounded_by_ends(tmp_path: Path) -> None:
    announced_ns = [[10**9 + i * 10**7, 10**9 + i * 10**7 + 900_000] for i in range(5)]
    truth = Truth(announced_ns, ["x"] * 5, [0, 1], [0, 70_000_000], mode="graph")
    timeline = merge_ranks(read_ranks(contents_of(written(tmp_path, truth))))
    assert abs(timeline.clocks.ahead_us[1] - 70_000.0) <= timeline.clocks.error_us[1]
    assert timeline.clocks.drifted_us == 0.0
    assert summary_of(timeline).agreeing_us.p50 is None


def test_of_ranks_without_files_nothing_is_said(tmp_path: Path) -> None:
    paths = write_timelines(tmp_path, 4)
    timeline = merge_ranks(read_ranks(contents_of(paths[1:])))
    summary = summary_of(timeline)
    assert summary.agreeing_us.p50 is None
    assert latest_text(timeline, summary).startswith("among ranks 1-3, rank ")
    complete = merge_ranks(read_ranks(contents_of(paths)))
    # The first of two in a buffer waits a millisecond for the second.
    assert summary_of(complete).agreeing_us.p50 == pytest.approx(550.0, abs=0.2)
    assert latest_text(complete, summary_of(complete)).startswith("rank 0 was the last")
