"""One server leads the others: its steps and their reports come over as they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.control_messages import JSON, LED, REPORTED
from plink.hub.membership.events import Pushed
from plink.hub.membership.tally import Tally
from plink.hub.session.following import Step, from_json, is_following, to_json
from plink.transport.frames import ProtocolError


@pytest.mark.parametrize("step", [*LED, *REPORTED])
def test_steps_come_over_from_the_one_who_may_say_them(step: Step) -> None:
    data = json.loads(json.dumps(to_json("job", step)))
    assert is_following(data)
    assert from_json(data, is_leader=step in LED) == ("job", step)
    with pytest.raises(ProtocolError, match="a message that no server says which"):
        from_json(data, is_leader=step not in LED)


@given(st.sampled_from([*LED, *REPORTED]), st.booleans(), st.data())
def test_a_changed_step_is_read_or_refused(
    step: Step, is_leader: bool, data: st.DataObject
) -> None:
    values: dict[str, Any] = to_json("job", step)
    values[data.draw(st.sampled_from([*sorted(values), "more"]))] = data.draw(JSON)
    try:
        namespace, read = from_json(values, is_leader=is_leader)
    except ProtocolError:
        return
    assert from_json(to_json(namespace, read), is_leader=is_leader) == (namespace, read)


REPORTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)),
    max_size=60,
)


@given(REPORTS)
def test_a_contribution_is_told_once_when_all_have_it(
    reports: list[tuple[int, int, int, int]],
) -> None:
    tally = Tally(3)
    seen: dict[Pushed, set[int]] = {}
    told: list[Pushed] = []
    for source, worker, iteration, revision in reports:
        report = Pushed(worker, iteration, revision)
        seen.setdefault(report, set()).add(source)
        if tally.pushed(source, report):
            told.append(report)
            assert seen[report] == {0, 1, 2}
    assert sorted(map(repr, told)) == sorted(
        repr(report) for report, sources in seen.items() if len(sources) == 3
    )


def test_a_worker_is_cut_when_nobody_takes_its_chunks_any_more() -> None:
    tally = Tally(2)
    assert not tally.cut(0, 3, 1)
    assert not tally.cut(0, 3, 1)
    assert not tally.cut(1, 3, 2)
    assert tally.cut(1, 3, 1)
    assert not tally.cut(1, 3, 1)
    tally.forget_cut(3)
    assert not tally.cut(1, 3, 1)


def test_what_is_complete_is_forgotten() -> None:
    tally = Tally(1)
    for iteration in range(1000):
        assert tally.pushed(0, Pushed(0, iteration, iteration))
        tally.forget_before(iteration)
    assert len(tally._pushed) == 1
