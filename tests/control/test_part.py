"""What is known counts by position as it would by name, whatever else is announced beside it."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from plink.training.control.marks import Marks
from plink.training.control.own import Own
from plink.training.control.part import Part
from plink.training.control.ranks import Ranks
from plink.training.control.readiness import Readiness
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.table import Table
from plink.training.control.tree_messages import Version, Waiting
from plink.training.control.wire import WireError
from support.seeds import draw_seeds

SETTINGS = Settings(stall_warning_s=1.0, stall_error_s=1.5)
BELOW = {1: Ranks(((1, 3),)), 4: Ranks(((4, 4),)), 5: Ranks(((5, 6),))}
PLACE = Place(0, 7, None, BELOW)
RANKS = {0: Ranks.of([0]), **BELOW}
NAMES = [f"t{i}" for i in range(6)]
A_GROUP = Request("g", (Tensor("int32", (1,)),) * 2, ("t0", "t1"))


def a_request(name: str, length: int = 3) -> Request:
    return Request(name, (Tensor("float32", (length,)),))


def as_set(complete: Iterable[tuple[Version, ...]]) -> set[frozenset[Version]]:
    return {frozenset(versions) for versions in complete}


class Both:
    """A part beside the same told by name only."""

    def __init__(self) -> None:
        self.table = Table(remembers=True)
        for i, name in enumerate(NAMES):
            self.table.put(i, a_request(name), 0)
        self.own = Own()
        self.part = Part(PLACE, self.table, self.own, SETTINGS)
        self.model = Readiness(PLACE, SETTINGS.stall_warning_s, SETTINGS.stall_error_s)
        self.said: dict[int, set[str]] = {source: set() for source in RANKS}
        self.joined: set[int] = set()
        self.complete: set[str] = set()
        self.marked = 0

    def announce(self, rng: random.Random, source: int, now_s: float) -> None:
        """Some of what the source has not announced; mostly as it is known."""
        if source in self.joined:
            return
        names = [name for name in rng.sample(NAMES, 4) if name not in self.said[source]]
        self.said[source].update(names)
        known = [i for i, name in enumerate(NAMES) if name in names and rng.random() < 0.9]
        known = [i for i in known if self.part.can_mark(i, self.table.now_at(i))]
        requests = [self.table.now_at(i) for i in known]
        if source != 0:
            self.part.mark(source, known, now_s)
        elif not self.part.announce(requests, now_s):
            pytest.fail("what can be marked was not")
        self.marked += len(known)
        rest = [
            a_request(name, rng.choice([3, 3, 4]))
            for name in names
            if name not in {request.name for request in requests}
        ]
        if rng.random() < 0.1 and "g" not in self.said[source]:
            self.said[source].add("g")
            rest.append(A_GROUP)
        for request in requests:
            self.model.add(source, (Version(request, RANKS[source]),), now_s)
        for request in rest:
            version = (Version(request, RANKS[source]),)
            self.part.add(source, version, now_s)
            self.model.add(source, version, now_s)

    def join(self, source: int) -> None:
        """The source announces no more."""
        self.joined.add(source)
        self.part.join(source, RANKS[source])
        self.model.join(source, RANKS[source])

    def begin_anew(self) -> None:
        """All announce again."""
        self.joined.clear()
        self.part.begin_anew()
        self.model.begin_anew()

    def tell_complete(self) -> None:
        """Both tell the same."""
        marks = [
            (Version(self.table.now_at(i), self.part.announced(NAMES[i])),)
            for i in self.part.complete_marks()
        ]
        complete = as_set([*marks, *self.part.complete()])
        assert complete == as_set(self.model.complete())
        for versions in complete:
            self.complete.update(version.request.name for version in versions)

    def end(self, rng: random.Random) -> None:
        """Some of what is complete is released as it stands there, some of all is refused."""
        released = [i for i, name in enumerate(NAMES) if name in self.complete]
        released = rng.sample(released, rng.randint(0, len(released)))
        self.part.release(released, [self.table.now_at(i) for i in released])
        names = [NAMES[i] for i in released]
        self.model.forget(names)
        refused = [name for name in [*NAMES, "g"] if rng.random() < 0.05]
        self.part.refuse(refused)
        self.model.forget(refused)
        for said in self.said.values():
            said.difference_update(names, refused)
        self.complete.difference_update(names, refused)

    def move(self, rng: random.Random, message: int) -> None:
        """Something else stands at a position from now on."""
        position = rng.randrange(len(NAMES))
        self.part.unmark(position)
        self.table.put(position, a_request(NAMES[position], rng.choice([3, 4])), message)

    def compare(self, now_s: float) -> None:
        """In all that can be asked."""
        assert self.part.wakes_s == self.model.wakes_s
        for name in [*NAMES, "g"]:
            assert self.part.announced(name) == self.model.announced(name), name
        stalled, known = self.part.stalled(now_s), self.model.stalled(now_s)
        assert sorted(stalled, key=_name) == sorted(known, key=_name)


def _name(waiting: Waiting) -> str:
    return waiting.name


def test_marks_count_as_names_do() -> None:
    marked = completed = 0
    for seed in draw_seeds(20, 1000):
        rng = random.Random(seed)
        both = Both()
        now_s = 0.0
        for message in range(1, 40):
            now_s += rng.choice([0.0, 0.01, 0.3])
            for source in rng.sample(sorted(RANKS), rng.randint(1, 4)):
                both.announce(rng, source, now_s)
            if rng.random() < 0.1:
                both.join(rng.choice(sorted(RANKS)))
            if rng.random() < 0.1:
                name = rng.choice(NAMES)
                both.part.backdate(name, now_s - 0.4, now_s)
                both.model.backdate(name, now_s - 0.4, now_s)
            if rng.random() < 0.1:
                both.move(rng, message)
            both.tell_complete()
            both.compare(now_s)
            completed += len(both.complete)
            both.end(rng)
            both.compare(now_s)
            if both.joined and not both.complete:
                both.begin_anew()
        marked += both.marked
    assert marked > 100
    assert completed > 100


@pytest.mark.parametrize("sources", [(4, 5), (5, 4)])
def test_what_is_said_again_is_complete_with_all_that_was_said(sources: tuple[int, int]) -> None:
    """Ranks differ in t0; it is torn from a group, and whoever said it first may complete it."""
    readiness = Readiness(PLACE, 1.0, None)
    lengths = {4: 3, 5: 4}
    for source in sources:
        version = Version(a_request("t0", lengths[source]), RANKS[source])
        readiness.add(source, (version,), 0.0)
    readiness.add(1, (Version(A_GROUP, RANKS[1]),), 0.0)
    for source in (0, 1, 4):
        readiness.join(source, RANKS[source])
    readiness.complete()
    readiness.forget(["g"])
    ((*versions,),) = readiness.complete()
    assert {version.request.tensors[0].shape for version in versions} == {(3,), (4,)}


def test_of_what_is_marked_twice_what_came_before_is_marked() -> None:
    marks = Marks([0, 7])
    assert marks.mark(7, [3, 5], 1.0) is None
    assert marks.mark(7, [9, 4, 5, 2], 2.0) == 5
    assert marks.mark(0, [8, 8], 2.0) == 8
    assert list(marks) == [3, 5, 9, 4, 8]
    assert marks.sources(9) == [7]
    assert marks.sources(8) == [0]
    assert marks.complete([7]) == [3, 4, 5, 9]
    assert marks.complete([7]) == []
    marks.look_again()
    assert marks.complete([0]) == [8]


def test_what_this_rank_has_announced_is_its_own_also_when_it_is_told_apart() -> None:
    both = Both()
    assert both.part.announce([a_request("t0")], 0.0)
    assert not both.part.announce([a_request("t0")], 0.0)
    assert both.own.is_empty
    both.part.tell_apart(A_GROUP)
    assert both.own.forget("t0")
    with pytest.raises(WireError, match="'t0' twice"):
        both.part.add(0, (Version(a_request("t0", 4), RANKS[0]),), 0.0)
