from plink.probes.echo.liveness import PingDeadlines


def test_an_agent_that_does_not_answer_is_overdue() -> None:
    liveness = PingDeadlines(10.0, 4.0)
    assert liveness.ask(3, 100.0)
    assert not liveness.ask(3, 105.0)
    assert liveness.unanswered == {3}
    assert liveness.overdue(110.0) == []
    assert liveness.overdue(110.5) == [(3, 10.0)]
    liveness.settle(3)
    assert liveness.overdue(200.0) == []
    assert liveness.ask(3, 200.0)


def test_a_doubted_agent_is_overdue_sooner() -> None:
    liveness = PingDeadlines(10.0, 4.0)
    assert liveness.doubts_end_at() == float("inf")
    liveness.ask(1, 100.0)
    liveness.ask(2, 101.0, doubted=True)
    assert liveness.doubts_end_at() == 105.0
    liveness.ask(1, 102.0, doubted=True)
    assert liveness.doubts_end_at() == 104.0
    assert liveness.overdue(105.5) == [(1, 4.0), (2, 4.0)]
    liveness.settle(2)
    liveness.settle(1)
    assert liveness.doubts_end_at() == float("inf")


def test_a_doubt_ends_with_the_first_word() -> None:
    liveness = PingDeadlines(10.0, 4.0)
    liveness.ask(1, 100.0, doubted=True)
    liveness.settle(1)
    liveness.ask(1, 103.0)
    assert liveness.overdue(110.0) == []


def test_what_could_not_be_heard_is_not_owed() -> None:
    liveness = PingDeadlines(10.0, 4.0)
    liveness.ask(1, 100.0, doubted=True)
    liveness.forget()
    assert liveness.unanswered == set()
    assert liveness.overdue(200.0) == []
    assert liveness.doubts_end_at() == float("inf")
