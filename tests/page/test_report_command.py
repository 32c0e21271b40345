"""`plink report`, as a user runs it, and what a browser makes of the page."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from page.subjects import racks, with_rates, without
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster, document, host_names
from plink.formats import order as order_file
from plink.formats.groups import Grouping
from plink.formats.order_basis import order_basis
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from support.require import require_browser

HOSTILE = ["<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>", "<b>bold</b>&amp;"]
# Names that pictures show whole.
SHORT_HOSTILE = ["<script>1", "<img/src=x>", "<b>b</b>&amp;"]
_TIMEOUT_S = 100


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def needs_plotly() -> None:
    pytest.importorskip("plotly", reason="needs plotly")


def write(found: cluster.Cluster, name: str = "c.json") -> None:
    cluster.write_cluster(name, found)


def write_order(name: str = "o.json", source: str = "c.json", ranks: int | None = None) -> None:
    found = cluster.read_cluster(source)
    order_file.write_order(name, find_order(found, OrderRequest(time_limit_s=0.2, ranks=ranks)))


def visible(page: str) -> str:
    """The words of a page, without scripts, styles and tags."""
    without_code = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", page)
    return html.unescape(re.sub(r"<[^>]*>", " ", without_code))


def report(*files: str) -> str:
    assert run(["report", *files, "-o", "r.html"]) == 0
    return Path("r.html").read_text(encoding="utf-8")


def in_a_browser(folder: Path, file: str, width_px: int = 1000) -> tuple[str, list[str]]:
    """The document once its scripts have run, and what they wrote on the console."""
    done = subprocess.run(
        [
            require_browser(),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-breakpad"),
            "--hide-scrollbars",
            *("--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"),
            f"--window-size={width_px},900",
            f"--user-data-dir={folder / 'profile'}",
            (folder / file).as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.needs("browser")
def test_a_browser_draws_all_figures_and_has_nothing_to_complain_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_plotly()
    require_browser()
    # Files with such names are refused; the page must not depend on that.
    monkeypatch.setattr(host_names, "find_name_fault", lambda _: None)
    names = [*HOSTILE, *SHORT_HOSTILE, *(f"h{host}" for host in range(6, 12))]
    write(without(racks([4, 4, 4], names=names), [(0, 1), (1, 0)]))
    write_order()
    figures = len(re.findall('id="figure-', report("c.json", "o.json")))
    drawn, console = in_a_browser(folder, "r.html")
    assert console == []
    assert 'data-drawn="yes"' in drawn[: drawn.index("<head")]
    body = drawn[drawn.index("<body") : drawn.index('<script type="application/json"')]
    assert figures == 8
    # The map, which three groups do not fit into, is folded: there is no room to draw in.
    assert body.count('class="modebar-container"') == 7
    # The library has a button that sends what is drawn to its maker.
    assert body.count('data-title="Zoom in"') == 7
    assert body.count("Share") == 0
    assert len(re.findall("<(script|img|b)\\b", body)) == 0
    shown = visible(body)
    for name in SHORT_HOSTILE:
        # In the heat map's axes, the tree and two rings, and in tables.
        assert shown.count(name) >= 5
    for name in HOSTILE:
        assert shown.count(name) >= 3
    assert "2 of 132 directions were not measured" in shown


# Names what sticks out of a narrow page: of the page, of a table's frame, of a bar's column.
MEASURE = """<script>addEventListener("load", () => setTimeout(() => {
  const page = document.documentElement;
  const wide = (e) => e.scrollWidth > e.clientWidth + 1;
  const frames = [...document.querySelectorAll(".table:not(:has(.grid)), td, p, pre")];
  page.dataset.seen = page.clientWidth;
  page.dataset.out = [page, ...frames].filter(wide).map((e) => e.tagName + e.textContent).join();
}, 5000));</script>"""


@pytest.mark.needs("browser")
def test_nothing_sticks_out_of_a_narrow_page_and_what_is_folded_can_be_drawn(folder: Path) -> None:
    needs_plotly()
    require_browser()
    names = [f"gpu-worker-eu-west-1a-{host:04d}-0a1b2c3d4e5f" for host in range(12)]
    write(with_rates(racks([4, 4, 4], names=names), slow=names[3], uplink_gbit_s=10.0))
    write_order()
    page = report("c.json", "o.json")
    # Without its policy, which would keep the test's own script out.
    page = re.sub("<meta http-equiv=[^>]*>", "", page).replace("<details>", "<details open>")
    (folder / "open.html").write_text(page.replace("</head>", f"{MEASURE}</head>"))
    drawn, console = in_a_browser(folder, "open.html", 500)
    assert console == []
    [root] = re.findall("<html [^>]*>", drawn)
    assert 'data-seen="500"' in root
    assert 'data-out=""' in root
    assert drawn.count('class="modebar-container"') == page.count('id="figure-') == 9


def test_the_page_loads_nothing_and_runs_only_its_own_scripts() -> None:
    needs_plotly()
    write(racks([4, 4]))
    page = report("c.json")
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert policy[1].count("sha256-") == 2
    assert not re.findall(r"<(?:link|iframe|script[^>]* src=)|@import|url\(", visible(page))
    assert not re.findall(r"<(?:link|iframe|img|script src)\b", page.split("<script", 1)[0])


def test_what_is_not_known_yet_is_the_next_step() -> None:
    needs_plotly()
    write(replace(racks([4, 4]), groups=[]))
    page = visible(report("c.json"))
    assert "no groups are known yet" in page
    assert "plink group c.json" in page
    assert "plink order c.json --algo ring -o order.json" in page
    write(racks([4, 4]))
    page = visible(report("c.json"))
    assert "plink probe --resume c.json --tool uplinks" in page
    assert "plink group c.json" not in page
    write(replace(racks([4, 4]), groups=[], grouping=Grouping("levels", "raw")))
    assert "plink group found no groups" in visible(report("c.json"))


def test_a_page_names_files_and_no_folder_of_this_machine(folder: Path) -> None:
    needs_plotly()
    write(with_rates(racks([4, 4])))
    (folder / "orders").mkdir()
    write_order("orders/o.json")
    page = report(str(folder / "c.json"), str(folder / "orders" / "o.json"))
    assert str(folder) not in page
    assert "plink order orders/o.json --format openmpi" in visible(page)
    assert "c.json</title>" in page


def test_an_order_alone_is_a_report_too() -> None:
    needs_plotly()
    write(racks([4, 4]))
    write_order()
    page = visible(report("o.json"))
    assert "2 of 8 hops lead from one group to another" in page
    assert "plink order o.json --format openmpi -o hostfile" in page


@pytest.mark.parametrize("files", [["c.json", "o.json"], ["o.json"]])
def test_an_order_may_leave_hosts_out(files: list[str]) -> None:
    needs_plotly()
    write(racks([4, 4, 4]))
    write_order(ranks=8)
    page = visible(report(*files))
    assert "ring on 8 of 12 hosts" in page
    assert "2 of 8 hops lead from one group to another" in page
    assert "A ring over 2 groups has at least 2" in page
    assert " --ranks 8 --orders given,o.json,random:5" in page


def test_how_to_make_an_order_anew_keeps_its_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    needs_plotly()
    write(racks([4, 4]))
    write_order(ranks=6)
    write(racks([4, 4], seed=2))
    assert run(["report", "c.json", "o.json", "-o", "r.html"]) == 2
    assert "plink order c.json --algo ring --ranks 6 -o o.json" in capsys.readouterr().err


def test_a_cluster_without_measurements_says_what_to_do() -> None:
    needs_plotly()
    write(replace(racks([4, 4]), rtt=None))
    assert "plink probe --resume c.json" in visible(report("c.json"))


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_few_hosts(hosts: int) -> None:
    needs_plotly()
    write(racks([hosts]))
    write_order()
    assert f"plink: {hosts} host" in visible(report("c.json", "o.json"))


def test_equal_and_zero_distances_are_drawn() -> None:
    needs_plotly()
    found = racks([4])
    assert found.rtt is not None
    for reading in (0.0, 7.0):
        matrix = np.full((4, 4), reading)
        np.fill_diagonal(matrix, np.nan)
        rtt = replace(found.rtt, rtt_us={10.0: matrix})
        write(replace(found, rtt=rtt))
        assert "Distances" in visible(report("c.json"))


def test_standard_output_and_input(folder: Path) -> None:
    needs_plotly()
    write(racks([4, 4]))
    done = subprocess.run(
        [sys.executable, "-m", "plink", "report", "-", "-o", "-"],
        input=(folder / "c.json").read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"<!DOCTYPE html>")
    assert done.stderr == b""


def test_files_are_held_to_be_of_one_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    needs_plotly()
    write(racks([4, 4]))
    write_order()
    write(racks([4, 4], seed=2), "d.json")
    write_order("p.json", "d.json")
    for files, said in (
        (["d.json", "o.json"], "error: o.json was made from another version of d.json\n"),
        (["c.json", "d.json"], "error: c.json and d.json are both cluster files\n"),
        (["o.json", "p.json"], "error: o.json and p.json were not made from the same cluster"),
        (["-", "-"], "error: only one of the files can be standard input (-)\n"),
    ):
        assert run(["report", *files, "-o", "r.html"]) == 2
        assert capsys.readouterr().err.startswith(said)
    assert not Path("r.html").exists()


def test_an_order_of_other_hosts_is_refused_whatever_its_hash_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    needs_plotly()
    write(racks([4, 4]))
    write(racks([4, 4], names=[f"x{host}" for host in range(8)]), "d.json")
    write_order("o.json", "d.json")
    found = order_file.read_order("o.json")
    order_file.write_order(
        "o.json", replace(found, made_from=order_basis(cluster.read_cluster("c.json"), "latency"))
    )
    assert run(["report", "c.json", "o.json", "-o", "r.html"]) == 2
    assert "was made from another version of c.json" in capsys.readouterr().err


def test_wrong_files_and_places(capsys: pytest.CaptureFixture[str]) -> None:
    needs_plotly()
    Path("t.json").write_bytes(document.dump({"format": "plink.tea"}))
    write(racks([4, 4]))
    for arguments, said in (
        (["t.json", "-o", "r.html"], "error: t.json: is a 'plink.tea' file, and cannot be drawn"),
        (["c.json", "-o", "c.json"], "error: c.json: is the output, but also an input"),
        (["c.json", "-o", "no/r.html"], "error: no/r.html: there is no folder"),
        (["c.json"], "error: missing option '-o'"),
    ):
        assert run(["report", *arguments]) == 2
        assert capsys.readouterr().err.startswith(said)


def test_without_plotly_one_sentence_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    write(racks([4, 4]))
    assert run(["report", "c.json", "-o", "r.html"]) == 1
    assert capsys.readouterr().err == (
        "error: plink report needs plotly, which is not installed\nhint: pip install plotly\n"
    )
