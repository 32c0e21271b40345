"""Members that are lost, leave and join, in threads of one process; and many of them, killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.forests import chains
from engine.group import QUICK
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.engine import DirectoryStore, Engine, EngineError, Members, membership
from plink.engine.agreement import Meeting
from plink.engine.lifeline import LifeLine, Watch
from plink.engine.roster import Member, Presence, Roster, pack_presence, presence_key
from plink.plans.regroup import flat, regroup_forest

SOAK = Path(__file__).resolve().parents[2] / "scripts" / "soak"


class Crew:
    """Members, each with a thread of its own."""

    def __init__(self, store: DirectoryStore) -> None:
        self.store = store
        self.threads = ThreadPoolExecutor(8)

    def found(self, ranks: int) -> list[Members]:
        make = [
            self.threads.submit(Members, rank, ranks, self.store, chains(ranks), QUICK)
            for rank in range(ranks)
        ]
        return [one.result(30) for one in make]

    def join(self) -> Future[Members]:
        return self.threads.submit(Members.join, self.store, QUICK)

    def on_all(self, members: Sequence[Members], action: Callable[[Members], object]) -> list[str]:
        """What each came to: what `action` returned, or the error's sentence."""

        def outcome(one: Members) -> str:
            try:
                return str(action(one))
            except EngineError as error:
                return str(error)

        return [one.result(60) for one in [self.threads.submit(outcome, m) for m in members]]

    def steps(self, members: Sequence[Members], count: int = 1) -> list[str]:
        def step(one: Members) -> None:
            for _ in range(count):
                array = np.full(1000, one.number + 1)
                one.allreduce(array).wait()
                assert (array == sum(one.numbers) + one.ranks).all()
                one.commit()

        return self.on_all(members, step)


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(DirectoryStore(tmp_path / "meeting"))
    yield crew
    crew.threads.shutdown()


def close(members: Sequence[Members]) -> None:
    for one in members:
        one.close()


def test_a_lost_member_is_named_and_the_others_go_on(crew: Crew) -> None:
    members = crew.found(4)
    assert crew.steps(members, 2) == ["None"] * 4
    lost = members.pop(1)
    lost.close()
    said = crew.steps(members)
    assert said == ["rank 1 (127.0.0.1) closed its engine before collective 4"] * 3
    assert crew.on_all(members, Members.reconfigure) == ["None"] * 3
    assert [one.numbers for one in members] == [[0, 2, 3]] * 3
    assert [one.rank for one in members] == [0, 1, 2]
    assert [one.steps for one in members] == [2] * 3
    expected = regroup_forest(chains(4), [0, 2, 3])
    assert all(
        (one.forest.reduce_parents == expected.reduce_parents).all()
        and one.forest.weights == pytest.approx(expected.weights)
        for one in members
    )
    assert crew.steps(members, 2) == ["None"] * 3
    # The first one, to which the others looked.
    members.pop(0).close()
    crew.steps(members)
    assert crew.on_all(members, Members.reconfigure) == ["None"] * 2
    assert crew.steps(members) == ["None"] * 2
    assert [one.numbers for one in members] == [[2, 3]] * 2
    close(members)


def test_one_joins_and_one_leaves_at_a_step_that_all_agree_on(crew: Crew) -> None:
    members = crew.found(2)
    joining = crew.join()
    while members[0].ranks == 2:
        assert crew.steps(members) == ["None"] * 2
    members.append(joining.result(20))
    assert [(one.numbers, one.newcomers) for one in members] == [([0, 1, 2], [2])] * 3
    assert len({one.steps for one in members}) == 1
    assert crew.steps(members) == ["None"] * 3
    assert [one.newcomers for one in members] == [[]] * 3
    leaving = members[0]
    crew.on_all(members, lambda one: one.commit(leave=one is leaving))
    members.remove(leaving)
    assert [one.numbers for one in members] == [[1, 2]] * 2
    # Nobody has lost a step.
    assert crew.steps(members) == ["None"] * 2
    with pytest.raises(EngineError, match="not connected with the others"):
        leaving.allreduce(np.ones(3))
    close(members)


def test_those_that_are_not_wanted_hear_of_it_and_may_come_again(crew: Crew) -> None:
    members = crew.found(3)
    plan = chains(3)
    said = crew.on_all(
        members, lambda one: one.reconfigure([0, 2], plan) if one.number != 1 else None
    )
    assert said == ["None"] * 3
    assert [members[0].numbers, members[2].numbers] == [[0, 2]] * 2
    assert crew.on_all([members[1]], Members.reconfigure) == [
        "the others went on without this process, which was member 1"
    ]
    again = crew.join()
    rest = [members[0], members[2]]
    while rest[0].ranks == 2:
        assert crew.steps(rest) == ["None"] * 2
    rest.append(again.result(20))
    assert rest[0].numbers == [0, 2, 3]
    assert crew.steps(rest) == ["None"] * 3
    close(rest)


def test_what_cannot_be(crew: Crew, tmp_path: Path) -> None:
    hasty = replace(QUICK, setup_timeout_s=0.3)
    with pytest.raises(WrongUseError, match="there is no rank 2 among 2"):
        Members(2, 2, crew.store)
    with pytest.raises(WrongUseError, match="the plan is for 3 ranks, there are 2"):
        Members(0, 2, crew.store, flat(3))
    with pytest.raises(EngineError, match=r"ranks 1, 2 did not come to the meeting within 0.3 s"):
        Members(0, 3, crew.store, None, hasty)
    with pytest.raises(EngineError, match="there are no members to join"):
        Members.join(DirectoryStore(tmp_path / "empty"), hasty)
    alone = Members(0, 1, DirectoryStore(tmp_path / "alone"), None, QUICK)
    with pytest.raises(WrongUseError, match="the plan is for 2 ranks, there are 1"):
        alone.reconfigure(plan=flat(2))
    assert crew.steps([alone], 2) == ["None"]
    alone.close()
    with pytest.raises(EngineError, match="all members have ended, there is nobody to join"):
        Members.join(DirectoryStore(tmp_path / "alone"), hasty)


class Lines:
    """Members of a roster as far as others see them: some have come, all can be called."""

    def __init__(self, count: int, store: DirectoryStore) -> None:
        self.store = store
        self.lines = [LifeLine("127.0.0.1", QUICK.silence_timeout_s) for _ in range(count)]
        members = [Member(number, line.address, -1) for number, line in enumerate(self.lines)]
        self.roster = Roster(members, 7, count, "plan", [])

    def come(self, number: int, steps: int = 7) -> None:
        presence = Presence(self.lines[number].address, steps)
        self.store.set(presence_key(1, number), pack_presence(presence))

    def meet(
        self,
        number: int,
        suspects: Sequence[int] = (),
        banned: Sequence[int] = (),
        patience_s: float = 0.5,
    ) -> Roster:
        watch = Watch(QUICK.silence_timeout_s)
        try:
            return Meeting(
                self.store,
                1,
                number,
                self.roster,
                suspects=suspects,
                banned=banned,
                watch=watch,
                patience_s=patience_s,
                silence_s=QUICK.silence_timeout_s,
            ).agree(lambda members: str(list(members)))
        finally:
            watch.close()


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[Lines]:
    lines = Lines(4, DirectoryStore(tmp_path))
    yield lines
    for line in lines.lines:
        line.close()


def test_a_step_that_one_has_ended_counts_for_all(lines: Lines) -> None:
    for number, steps in enumerate((7, 8, 7, 7)):
        lines.come(number, steps)
    roster = lines.meet(0)
    assert (roster.numbers, roster.steps, roster.plan) == ([0, 1, 2, 3], 8, "[0, 1, 2, 3]")
    # The others read the same, whatever they think themselves.
    assert lines.meet(3, suspects=[0]) == roster
    assert lines.meet(1, banned=[0, 2, 3]) == roster


def test_who_has_ended_is_not_waited_for_suspected_or_not(lines: Lines) -> None:
    for number in (2, 3):
        lines.lines[number].close()
    for number in (0, 1):
        lines.come(number)
    # Where it waited, the test would not end in time.
    assert lines.meet(0, suspects=[3], patience_s=1000.0).numbers == [0, 1]


def test_a_suspect_that_comes_is_in_unless_it_was_one_before(lines: Lines) -> None:
    for number in range(4):
        lines.come(number)
    assert lines.meet(0, suspects=[1, 2], banned=[2]).numbers == [0, 1, 3]


def test_those_that_are_fewer_leave_the_first_word_to_the_others(lines: Lines) -> None:
    lines.come(3)
    with ThreadPoolExecutor(1) as threads:
        cut_off = threads.submit(lines.meet, 3, [], [0, 1, 2])
        time.sleep(0.2)
        for number in range(3):
            lines.come(number)
        roster = lines.meet(0, suspects=[3], banned=[3])
        assert roster.numbers == [0, 1, 2]
        assert cut_off.result() == roster


def test_those_that_are_fewer_go_on_once_the_others_have_ended(lines: Lines) -> None:
    lines.come(3)
    with ThreadPoolExecutor(1) as threads:
        left = threads.submit(lines.meet, 3, [], [0, 1, 2])
        time.sleep(0.2)
        for line in lines.lines[:3]:
            line.close()
        assert left.result().numbers == [3]


def test_nobody_connects_in_vain_while_another_begins_anew(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = crew.found(3)
    fails = [True]

    def flaky(rank: int, *arguments: Any, **options: Any) -> Engine:
        if rank == 1 and fails:
            fails.clear()
            raise EngineError("no descriptors are left")
        return Engine(rank, *arguments, **options)

    monkeypatch.setattr(membership, "Engine", flaky)
    began = time.monotonic()
    assert crew.on_all(members, Members.reconfigure) == ["None"] * 3
    assert time.monotonic() - began < QUICK.setup_timeout_s
    assert [(one.generation, one.numbers) for one in members] == [(2, [0, 1, 2])] * 3
    assert crew.steps(members) == ["None"] * 3
    close(members)


@pytest.mark.timing
def test_kills_leaves_and_joins_at_random_moments() -> None:
    argv = [
        sys.executable,
        str(SOAK),
        "--members",
        "--ranks",
        "4",
        "--seed",
        "5",
        "--changes",
        "6",
    ]
    argv += ["--seconds", "60", "--most-bytes", "100000", "--pause-s", "0.005", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, cwd="/", check=False)
    outcome = json.loads(done.stdout)
    assert (done.returncode, outcome["problems"]) == (0, [])
    assert outcome["kills"] + outcome["joins"] >= 3
    assert outcome["steps"] > outcome["generations"] >= 3
