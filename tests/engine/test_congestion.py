"""Which congestion control TCP has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.forests import stars
from engine.group import group
from plink.engine import Engine
from plink.engine.congestion import (
    allowed_congestion_controls,
    congestion_control,
    systems_congestion_control,
)
from support.require import require_namespaces


@pytest.mark.parametrize(
    ("asked", "systems", "near", "far"),
    [
        (None, "bbr", "reno", "bbr"),
        (None, "cubic", None, None),
        (None, "dctcp", None, None),
        ("bbr", "bbr", "bbr", None),
        ("reno", "cubic", "reno", None),
    ],
)
def test_bbr_gives_way_to_reno_towards_near_peers_only(
    asked: str | None, systems: str, near: str | None, far: str | None
) -> None:
    found = congestion_control(asked, systems)
    assert (found.near, found.far) == (near, far)


@pytest.mark.parametrize(
    ("asked", "systems", "allowed", "distant"),
    [
        (None, "bbr", ["reno", "bbr"], "bbr"),
        (None, "cubic", ["reno", "cubic"], None),
        (None, "cubic", ["reno", "cubic", "bbr"], "bbr"),
        ("cubic", "cubic", ["reno", "cubic", "bbr"], None),
        ("reno", "bbr", ["reno", "bbr"], None),
    ],
)
def test_bbr_is_for_distant_peers_where_it_may_be_chosen(
    asked: str | None, systems: str, allowed: list[str], distant: str | None
) -> None:
    assert congestion_control(asked, systems, allowed).distant == distant


def test_what_may_be_chosen_is_what_the_kernel_says() -> None:
    assert "reno" in allowed_congestion_controls()


def test_the_systems_has_a_name() -> None:
    said = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(encoding="ascii")
    assert systems_congestion_control() == said.strip()


@pytest.mark.parametrize("asked", [None, systems_congestion_control()])
def test_connections_have_it_at_both_ends(asked: str | None) -> None:
    expected = congestion_control(asked, systems_congestion_control()).near

    def controls(engine: Engine) -> set[str]:
        return {one.congestion_control for one in engine.statistics().connections}

    with group(stars(2), congestion_control=asked, shared_memory=False) as ranks:
        assert ranks.on_all(controls) == [{expected or systems_congestion_control()}] * 2


def test_far_peers_have_the_systems(tmp_path: Path) -> None:
    require_namespaces()
    argv = ["unshare", "--user", "--map-root-user", "--net"]
    argv += [sys.executable, "-m", "engine.far_ranks", str(tmp_path)]
    tests = Path(__file__).resolve().parents[1]
    said = subprocess.run(argv, cwd=tests, check=True, capture_output=True, text=True).stdout
    assert json.loads(said) == [[systems_congestion_control()] * 2] * 2
