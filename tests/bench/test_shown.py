"""What a person sees of a comparison: tables and a picture."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

from click.testing import CliRunner
from rich.console import Console

from bench.results import comparison
from plink.base.replacing import replace
from plink.bench.plot import plot
from plink.cli import cli
from plink.formats import document
from plink.formats.comparison import Comparison
from plink.formats.structs import encode
from plink.show.terminal.comparison import print_comparison

SVG = "{http://www.w3.org/2000/svg}"


def printed(found: Comparison) -> list[str]:
    output = io.StringIO()
    print_comparison(Console(width=80, file=output), found)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def cells(lines: list[str], start: str) -> list[str]:
    return [" ".join(line.split()) for line in lines if line.startswith(start)]


def test_a_table_a_size_and_one_of_the_bytes() -> None:
    lines = printed(comparison())
    assert max(map(len, lines)) <= 80
    assert "allreduce by engine, gloo on 2 hosts" in lines
    assert "4 B" in lines
    assert "20 MB, at least 400 ms by uplinks" in lines
    assert cells(lines, "engine auto (2lha)") == [
        "engine auto (2lha) 200 µs 100 µs 400 µs 0.16 - - -",
        "engine auto (2lha) 800 ms 400 ms 1.60 s 200 50 % 500 ms 0.50",
        "engine auto (2lha) 4 B 2.04 KB 2.00 KB 510 B 500 B",
        "engine auto (2lha) 20 MB 2.04 KB 2.00 KB 510 B 500 B",
    ]
    assert cells(lines, "gloo ring, given") == [
        "gloo ring, given 1.00 ms 500 µs 2.00 ms 0.03 - - -",
        "gloo ring, given 3.20 s 1.60 s 6.40 s 50 12 % 500 ms -",
    ]
    assert any("plink 0.1.0, torch 2.13.0" in line for line in lines)


def test_a_comparison_that_stopped_says_so() -> None:
    whole, stopped = printed(comparison()), printed(comparison("n1: died"))
    assert not any("Stopped early" in line for line in whole)
    assert "Stopped early, after 1 of 2 rounds: only whole rounds are compared" in stopped


def test_the_picture_has_a_dot_for_every_median_and_limit() -> None:
    drawn = ElementTree.fromstring(plot(comparison()))
    titles = [title.text for title in drawn.iter(f"{SVG}title")]
    assert titles == [
        "engine auto, 4 B: 200 µs",
        "engine auto, 20 MB: 800 ms",
        "gloo ring, given, 4 B: 1.00 ms",
        "gloo ring, given, 20 MB: 3.20 s",
        "limit, 20 MB: 400 ms",
    ]
    dots = [
        (float(dot.attrib["cx"]), float(dot.attrib["cy"]))
        for dot in drawn.iter(f"{SVG}circle")
        if dot.find(f"{SVG}title") is not None
    ]
    # Larger to the right, slower further up.
    assert dots[0][0] < dots[1][0]
    assert dots[1][0] == dots[3][0]
    assert dots[3][1] < dots[1][1] < dots[4][1] < dots[2][1] < dots[0][1]


def test_the_picture_of_one_row_and_of_hostile_names_is_well_formed() -> None:
    found = comparison()
    rows = [replace(found.rows[2], algorithm="<a&b>", plan="<a&b>", limit_s=None)]
    text = plot(replace(found, rows=rows))
    ElementTree.fromstring(text)
    assert "&lt;a&amp;b&gt;" in text


def test_show_prints_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "comparison.json"
    document.write_bytes(str(path), document.dump(encode(comparison())))
    shown = CliRunner().invoke(cli, ["show", str(path), "--width", "80"])
    assert shown.exception is None
    assert [line.rstrip() for line in shown.stdout.splitlines()] == printed(comparison())
    again = CliRunner().invoke(cli, ["show", str(path), "--json"])
    assert again.stdout == path.read_text()
    refused = CliRunner().invoke(cli, ["show", str(path), "--percentile", "50"])
    assert "--percentile applies only to cluster files" in str(refused.exception)
