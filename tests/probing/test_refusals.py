"""What `plink probe` refuses before it measures; no lab is needed."""

from __future__ import annotations

from pathlib import Path

from support.plink_command import plink_here


def test_the_host_list_is_not_overwritten(tmp_path: Path) -> None:
    hosts, link = tmp_path / "hosts", tmp_path / "link"
    hosts.write_text("a\nb\n")
    link.symlink_to(hosts)
    for output in (hosts, link):
        done = plink_here("probe", hosts, "-o", output)
        assert done.code == 2
        assert done.stderr.startswith(f"error: {output}: is the output, but also an input\nhint: ")
    assert hosts.read_text() == "a\nb\n"


def test_each_host_that_is_not_reached_is_named_on_a_line(tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    listed = [f"127.0.0.{number}" for number in range(1, 6)]
    text = "".join(f"{address}:1\n" for address in listed)
    done = plink_here("probe", "-", "-F", "/dev/null", "-o", out, text=text)
    assert done.code == 1
    *warnings, error = [line for line in done.stderr.splitlines() if not line.startswith("hint:")]
    assert [line.split()[:2] for line in warnings] == [["warning:", f"{a}:"] for a in listed]
    assert error == "error: fewer than two hosts can be reached"
    assert not out.exists()
