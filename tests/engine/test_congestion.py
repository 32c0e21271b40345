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
    CongestionControl,
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
    assert congestion_control(asked, systems) == CongestionControl(near, far)


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
