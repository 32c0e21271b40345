import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from plink.base.replacing import replace
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host
from plink.show.scale import SHADES
from plink.show.summary import summarise
from plink.show.terminal.cluster import print_cluster
from plink.show.terminal.paper import Paper
from show.racks import Racks, racks


def page(made: Racks, width: int = 80, *, colour: bool = False) -> list[str]:
    summary = summarise(made.cluster.names, made.rtt, 10.0)
    return lines(made.cluster, summary, width, colour=colour)


def lines(cluster: Cluster, summary: object, width: int, *, colour: bool = False) -> list[str]:
    stream = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=stream, width=width, color_system=system, force_terminal=colour)  # type: ignore[arg-type]
    print_cluster(Paper(console, None if colour else SHADES), "c.json", cluster, summary)  # type: ignore[arg-type]
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_sixteen_hosts_are_one_screen() -> None:
    found = page(racks(4, 4, lossy=0.1))
    assert len(found) <= 24
    text = "\n".join(found)
    assert "c.json  16 hosts, 1 unreachable, 240 of 240 directions measured" in text
    assert "p10 by echo (count 1000) · 2026-01-02 03:04:05 UTC · 12.3 s" in text
    for label in ("distances", "modes", "nearest", "farthest", "asymmetry", "losses", "missing"):
        assert label in text
    assert "no answer gone: connection refused" in text


def test_the_four_racks_stand_on_the_diagonal() -> None:
    made = racks(4, 4)
    pictured = [line[6:38] for line in page(made)[3:19]]
    for i, line in enumerate(pictured):
        shown = line.ljust(32)
        start = i // 4 * 8
        assert set(shown[start : start + 8]) <= {"█", "·"}
        assert not (shown[:start] + shown[start + 8 :]).strip()


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 12)),
    st.integers(40, 200),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_a_page_fits_its_width(
    shape: tuple[int, int], width: int, colour: bool, missing: float
) -> None:
    made = racks(*shape, missing=missing, lossy=0.2)
    if not colour:
        assert max(cell_len(line) for line in page(made, width)) <= width
    else:
        assert any("\x1b[" in line for line in page(made, width, colour=True))


def test_gaps_are_counted_and_named() -> None:
    made = racks(4, 4, missing=0.1)
    text = "\n".join(page(made, 100))
    gaps = 240 - summarise(made.cluster.names, made.rtt, 10.0).measured
    assert f"{gaps} of 240 directions" in text
    assert "×× not measured" in text
    assert f"and {gaps - 3} more: no echo in 1 s" in text


def test_what_a_file_says_cannot_steer_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J[red]x[/red]\u202e"
    made = racks(2, 2)
    rtt = replace(
        made.rtt,
        tool=evil,
        options={evil: evil},
        started=evil,
        notes=[evil],
        failures=[Unreachable(evil, evil, evil)],
    )
    hosts = [Host(f"[bold]{i}", "x") for i in range(4)]
    cluster = Cluster(hosts, rtt, [Unreachable(evil, evil)])
    found = lines(cluster, summarise(cluster.names, rtt, 10.0), 120)
    assert all(line.isprintable() for line in found)
    assert "[bold]0" in "\n".join(found)
    assert "[red]x[/red]" in "\n".join(found)


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (Cluster([Host("a", "a")]), "no round-trip times in this file"),
        (racks(1, 1).cluster, "no pair of hosts was measured"),
        (racks(2, 2, missing=1.0).cluster, "no pair of hosts was measured"),
    ],
)
def test_a_cluster_with_nothing_to_picture(cluster: Cluster, said: str) -> None:
    summary = None if cluster.rtt is None else summarise(cluster.names, cluster.rtt, 10.0)
    assert said in lines(cluster, summary, 80)


def test_failures_are_grouped_by_reason() -> None:
    failures = [Unreachable("a", f"reason {i}", str(j)) for i in range(5) for j in range(10 - i)]
    made = racks(2, 2)
    text = "\n".join(
        page(replace(made, cluster=replace(made.cluster, rtt=replace(made.rtt, failures=failures))))
    )
    assert "a → 0, a → 1, a → 2 and 7 more: reason 0" in text
    assert "2 other reasons" in text
    assert "reason 4" not in text
