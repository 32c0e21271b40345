import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.echo.protocol import (
    Alive,
    ListeningPort,
    Lost,
    Meeting,
    MeetingOver,
    Rtt,
    again_text,
    grant_text,
    opening,
    parse_event,
    peer_text,
    schedule_text,
)
from plink.probes.errors import ProtocolError
from plink.probes.options import EchoOptions


def test_events() -> None:
    assert parse_event("bound 4711") == ListeningPort(4711)
    assert parse_event("rtt 3 7 100 99 12000 15500") == Rtt(3, 7, 100, 99, (12.0, 15.5))
    assert parse_event("rtt 3 7 9 9 12000") == Rtt(3, 7, 9, 9, (12.0,))
    assert parse_event("lost 3 7 silent") == Lost(3, 7, "does not answer UDP probes")
    assert parse_event("over 3 7 900 400 50") == MeetingOver(3, 7, 900, 400, 50)
    assert parse_event("over 3 7 900 400 -") == MeetingOver(3, 7, 900, 400, None)
    assert parse_event("alive") == Alive()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "hello",
        "bound",
        "bound 70000",
        "bound -1",
        "rtt 3 7 100 99",
        "rtt 3 7 100 0 12000",
        "rtt 3 7 100 101 12000",
        "rtt 3 7 100 99 nan",
        "rtt 3 7 100 99 - 12000",
        "rtt 3 7 100 99 99999999999",
        "lost 3 7 tired",
        "over 3",
        "over 3 7",
        "over 3 ٣ 900 400 50",
        "over 3 7 - 400 50",
        "over 3 7 900 400 -1",
        "over 3 7 900 400 50 extra",
    ],
)
def test_what_no_agent_says_is_refused(line: str) -> None:
    with pytest.raises(ProtocolError):
        parse_event(line)


@given(st.text(max_size=80).filter(lambda line: line.split()[:1] not in (["alive"], ["over"])))
def test_any_text_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        parse_event(line)
    assert "\n" not in str(caught.value)


def test_what_the_coordinator_says() -> None:
    options = EchoOptions(count=300, percentile=99.9)
    assert opening(4, "10.0.0.4", options, silence_s=1.5, secret="ab" * 16, granted=True) == (
        "run 4 300 1500 granted " + "ab" * 16 + "\npercentiles 99.9 10 50 99\nbind 10.0.0.4 0\n"
    )
    text = schedule_text([(0, "10.0.0.1", 40000)], [Meeting(2, 0, True), Meeting(3, 1, False)])
    assert text == "peer 0 10.0.0.1 40000\npair 2 0 probe\npair 3 1 answer\n"
    assert grant_text(2, 1) == "go 2 1\n"
    assert peer_text(1, "::1", 40001) == "peer 1 ::1 40001\n"
    assert again_text(Meeting(4, 1, False), None) == "again 4 1 answer any\n"
