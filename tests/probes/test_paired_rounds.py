"""Rounds of pairs with a tool that is played: what is asked, handed on, suspected and named."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from plink.probes.errors import HostError
from plink.probes.paired_rounds import Silence, TransientLoss, measure_rounds
from plink.probes.remote.session import Running
from plink.probes.samples import More, PairLoss, RttReading, no_more
from support.jobs import echo_job
from support.local_hosts import ListSink, local_hosts
from support.pairs import all_pairs

Outcome = RttReading | Silence | PairLoss | TransientLoss


def reading(source: int, destination: int) -> RttReading:
    return RttReading(source, destination, 1, 1, {10.0: 5.0})


@dataclass
class Played:
    """A tool: `act` says what becomes of a direction."""

    act: Callable[[int, int], Outcome] = reading
    unfit: Mapping[int, HostError] = field(default_factory=dict)
    silent_to_all: str = "says nothing to any host"
    running: Running = field(default_factory=Running)
    asked: list[tuple[int, int, bool]] = field(default_factory=list)

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        return self.unfit

    def measure(self, source: int, destination: int, *, is_suspected: bool) -> Outcome:
        self.asked.append((source, destination, is_suspected))
        return self.act(source, destination)

    def count_attempts(self) -> Counter[tuple[int, int]]:
        return Counter((source, destination) for source, destination, _ in self.asked)

    def pairs(self) -> set[tuple[int, int]]:
        return {(source, destination) for source, destination, _ in self.asked}


def run(
    tool: Played,
    size: int = 4,
    wanted: frozenset[tuple[int, int]] | None = None,
    *,
    both_at_once: bool = False,
    sink: ListSink | None = None,
    more: More = no_more,
) -> ListSink:
    sink = sink or ListSink()
    job = echo_job(local_hosts(size), 1, more=more, ssh_concurrency=1)
    if wanted is not None:
        job = replace(job, wanted=wanted)
    measure_rounds(job, tool, sink, both_at_once=both_at_once)
    return sink


def test_every_direction_is_measured_once() -> None:
    tool = Played()
    sink = run(tool)
    assert sink.measured() == all_pairs(4) == tool.pairs()
    assert len(tool.asked) == 12
    assert tool.running.is_stopped


def test_further_rounds_measure_both_directions_of_any_pair() -> None:
    tool = Played()
    further = [[[(0, 1), (2, 3)], [(0, 2)]], [[(0, 1)]]]
    sink = run(tool, wanted=frozenset({(0, 1)}), more=lambda: further.pop(0) if further else ())
    assert [(source, destination) for source, destination, _ in tool.asked] == [
        *((0, 1), (0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (0, 1), (1, 0))
    ]
    assert sink.measured() == tool.pairs()


def test_only_what_is_wanted_is_asked_for_and_handed_on() -> None:
    wanted = frozenset({(0, 1), (3, 2)})
    assert Played().running.is_stopped is False
    alone, together = Played(), Played()
    assert run(alone, wanted=wanted).measured() == wanted
    assert alone.pairs() == wanted
    assert run(together, wanted=wanted, both_at_once=True).measured() == wanted
    assert together.pairs() == wanted | {(1, 0), (2, 3)}


def test_both_at_once_are_at_once() -> None:
    met = threading.Barrier(2, timeout=100)

    def act(source: int, destination: int) -> Outcome:
        met.wait()
        return reading(source, destination)

    assert run(Played(act), 2, both_at_once=True).measured() == all_pairs(2)


def test_an_unfit_host_costs_its_own_pairs_unasked() -> None:
    tool = Played(unfit={1: HostError("h1", "has no such tool")})
    sink = run(tool)
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [(1, "has no such tool")]
    assert sink.measured() == tool.pairs() == {(i, j) for i, j in all_pairs(4) if 1 not in (i, j)}
    assert {loss.reason for loss in sink.pair_losses} == {"h1: has no such tool"}
    assert sink.lost() == all_pairs(4) - sink.measured()


@pytest.mark.parametrize("victim", [0, 3])
def test_a_host_that_dies_is_named_once_whichever_end_it_was(victim: int) -> None:
    def act(source: int, destination: int) -> Outcome:
        if victim in (source, destination):
            raise HostError(f"h{victim}", "the connection was lost")
        return reading(source, destination)

    tool = Played(act)
    sink = run(tool)
    assert [loss.host for loss in sink.host_losses] == [victim]
    assert sink.lost() == {pair for pair in all_pairs(4) if victim in pair}
    assert {loss.reason for loss in sink.pair_losses} == {f"h{victim}: the connection was lost"}
    assert sum(victim in pair for pair in tool.pairs()) < 6


def test_the_silent_are_suspected_and_named_at_the_end() -> None:
    def act(source: int, destination: int) -> Outcome:
        return Silence("no answer") if 2 in (source, destination) else reading(source, destination)

    tool = Played(act)
    sink = run(tool, 6)
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [(2, tool.silent_to_all)]
    assert {loss.reason for loss in sink.pair_losses} == {"no answer"}
    impatient = [suspected for i, j, suspected in tool.asked if 2 in (i, j)]
    assert impatient[:2] == [False, False]
    assert all(impatient[2:])


def failing(*times: tuple[tuple[int, int], int]) -> Callable[[int, int], Outcome]:
    """Directions fail so many times, and succeed then."""
    left = Counter(dict(times))

    def act(source: int, destination: int) -> Outcome:
        if left[source, destination]:
            left[source, destination] -= 1
            return TransientLoss(PairLoss(source, destination, "no"))
        return reading(source, destination)

    return act


def test_what_failed_once_is_no_loss() -> None:
    tool = Played(failing(((1, 2), 1)))
    sink = run(tool)
    assert sink.measured() == all_pairs(4)
    assert not sink.pair_losses
    assert tool.count_attempts() == {pair: 1 + (pair == (1, 2)) for pair in all_pairs(4)}


def test_what_failed_twice_is_lost_once() -> None:
    tool = Played(failing(((1, 2), 2)))
    sink = run(tool)
    assert sink.pair_losses == [PairLoss(1, 2, "no")]
    assert sink.measured() == all_pairs(4) - {(1, 2)}
    assert tool.count_attempts() == {pair: 1 + (pair == (1, 2)) for pair in all_pairs(4)}


def test_both_directions_are_measured_again_where_they_run_at_once() -> None:
    """Alone, the direction that failed would have more than its part."""
    tool = Played(failing(((1, 2), 1)))
    sink = run(tool, both_at_once=True)
    assert (len(sink.readings), sink.pair_losses) == (12, [])
    assert tool.count_attempts() == {pair: 1 + (set(pair) == {1, 2}) for pair in all_pairs(4)}


def act_in_turn(
    outcomes: Mapping[tuple[int, int], Sequence[Outcome | HostError]],
) -> Callable[[int, int], Outcome]:
    """Return or raise a direction's outcomes, one at each attempt, and readings then."""
    left = {direction: list(each) for direction, each in outcomes.items()}

    def act(source: int, destination: int) -> Outcome:
        if not left.get((source, destination)):
            return reading(source, destination)
        outcome = left[source, destination].pop(0)
        if isinstance(outcome, HostError):
            raise outcome
        return outcome

    return act


FAILURE = TransientLoss(PairLoss(1, 0, "no"))
DEATH = HostError("h1", "the connection was lost")


@pytest.mark.parametrize(
    ("second", "count"), [(RttReading(0, 1, 2, 2, {10.0: 5.0}), 2), (Silence("no answer"), 1)]
)
def test_the_reading_of_the_second_try_counts_for_both_directions(
    second: Outcome, count: int
) -> None:
    tool = Played(act_in_turn({(0, 1): [reading(0, 1), second], (1, 0): [FAILURE]}))
    sink = run(tool, 2, both_at_once=True)
    assert sink.measured() == all_pairs(2)
    assert not sink.pair_losses
    assert [echoes.received for echoes in sink.readings if echoes.source == 0] == [count]


def test_a_direction_is_measured_again_if_the_one_that_is_not_wanted_failed_beside_it() -> None:
    """Alone, its rate would be too high."""
    tool = Played(act_in_turn({(1, 0): [FAILURE]}))
    sink = run(tool, 2, frozenset({(0, 1)}), both_at_once=True)
    assert (sink.measured(), sink.pair_losses) == ({(0, 1)}, [])
    assert tool.count_attempts() == {(0, 1): 2, (1, 0): 2}


def test_a_host_that_dies_in_the_second_try_of_the_other_direction_is_named() -> None:
    attempts = threading.Barrier(2, timeout=100)
    act_next = act_in_turn({(0, 1): [reading(0, 1), DEATH], (1, 0): [FAILURE]})

    def act(source: int, destination: int) -> Outcome:
        # Otherwise one direction may be over before the other begins, which is then not asked.
        attempts.wait()
        return act_next(source, destination)

    sink = run(Played(act), 2, both_at_once=True)
    assert [loss.host for loss in sink.host_losses] == [1]
    assert sink.pair_losses == [PairLoss(0, 1, f"h1: {DEATH}")]
    assert sink.measured() == {(1, 0)}


def test_a_host_that_dies_in_a_direction_that_is_not_wanted_is_named() -> None:
    tool = Played(act_in_turn({(1, 0): [DEATH]}))
    sink = run(tool, 2, frozenset({(0, 1)}), both_at_once=True)
    assert [loss.host for loss in sink.host_losses] == [1]
    assert (0, 1) in sink.measured() | sink.lost()
    assert (1, 0) not in sink.lost()


@pytest.mark.parametrize("second", [PairLoss(0, 1, "no time was left for it"), Silence("stopped")])
def test_a_second_try_that_is_not_worth_a_third_marks_no_host(second: Outcome) -> None:
    further = [[[(0, 1)]]]
    wanted = frozenset({(0, 1)})
    failure = TransientLoss(PairLoss(0, 1, "no"))
    tool = Played(act_in_turn({(0, 1): [failure, second, failure]}))
    sink = run(tool, 2, wanted, more=lambda: further.pop(0) if further else ())
    assert sink.pair_losses == [PairLoss(0, 1, "no")]
    assert tool.count_attempts()[0, 1] == 2 + 2


def test_a_host_that_failed_twice_has_no_second_try_until_it_succeeds() -> None:
    pair, further = ((0, 1), (1, 0)), [[[(0, 1)]]] * 3
    tool = Played(failing((pair[0], 4), (pair[1], 1)))
    wanted = frozenset(pair)
    sink = run(tool, 2, wanted, more=lambda: further.pop(0) if further else ())
    # (0, 1) fails in the first pass, without a second try from then on; (1, 0) fails, and succeeds
    # in the second pass, so that the others have a second try again.
    directions = [(source, destination) for source, destination, _ in tool.asked]
    assert directions == [
        *(pair[0], pair[0], pair[1]),
        *(pair[0], pair[1]),
        *(pair[0], pair[0], pair[1]),
        *(pair[0], pair[1]),
    ]
    assert sink.pair_losses == [PairLoss(*way, "no") for way in (pair[0], pair[1], pair[0])]


def test_a_silent_host_is_suspected_by_its_second_tries() -> None:
    def act(source: int, destination: int) -> Outcome:
        if 2 in (source, destination):
            return TransientLoss(Silence("no answer"))
        return reading(source, destination)

    tool = Played(act)
    sink = run(tool, 6)
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [(2, tool.silent_to_all)]
    assert [loss.reason for loss in sink.pair_losses] == ["no answer"] * 10
    assert sum(2 in pair[:2] for pair in tool.asked) == 10 + 1


def test_a_host_that_dies_in_a_second_try_is_named() -> None:
    tries = Counter[tuple[int, int]]()

    def act(source: int, destination: int) -> Outcome:
        tries[source, destination] += 1
        if tries[source, destination] > 1:
            raise HostError("h1", "the connection was lost")
        return TransientLoss(Silence("no answer"))

    sink = run(Played(act), 2, frozenset({(0, 1)}))
    assert [loss.host for loss in sink.host_losses] == [1]
    assert sink.pair_losses == [PairLoss(0, 1, "h1: the connection was lost")]


def test_an_unforeseen_error_ends_the_run() -> None:
    def act(source: int, destination: int) -> Outcome:
        raise ZeroDivisionError

    tool = Played(act)
    with pytest.raises(ZeroDivisionError):
        run(tool)
    assert tool.running.is_stopped


def test_what_was_measured_is_kept_when_the_user_has_enough() -> None:
    def interrupt(count: int) -> None:
        if count == 3:
            raise KeyboardInterrupt

    tool, sink = Played(), ListSink(on_reading=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(tool, sink=sink)
    assert tool.running.is_stopped
    assert 3 <= len(sink.readings) < 12
