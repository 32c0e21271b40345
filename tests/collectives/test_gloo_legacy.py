"""Gloo's algorithms that torch does not offer, in programs of Gloo's own, against their tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectives.traffic import check, run_gloo_program
from plink.solvers.collectives.registry import find
from support.lab import Lab
from support.require import require_gloo_headers

pytestmark = pytest.mark.lab

COUNTS = {
    "gloo-ring": [12],
    "gloo-ring-legacy": [12],
    "gloo-ring-chunked": [8, 12, 16],
    # Of one, two, three and four binary blocks.
    "gloo-halving-doubling": [3, 7, 8, 12, 13, 15, 16],
    "gloo-bcube:2": [8, 16],
    "gloo-bcube:3": [6],
    "gloo-bcube:4": [3, 8, 12],
    "gloo-bcube-new": [7, 8, 12, 16],
}
REFUSED = {"gloo-bcube:2": [6], "gloo-bcube:3": [4, 7], "gloo-bcube:4": [5, 6, 10]}


@pytest.fixture(autouse=True)
def headers() -> None:
    """All here is built with Gloo itself."""
    require_gloo_headers()


def test_gloo_sends_what_its_tables_say(lab: Lab, tmp_path: Path) -> None:
    assert run_gloo_program(lab, tmp_path, COUNTS) == set()
    for name, counts in COUNTS.items():
        for ranks in counts:
            check(lab, tmp_path, name, ranks)


def test_legacy_bcube_sums_wrongly_where_it_is_refused(lab: Lab, tmp_path: Path) -> None:
    cases = {(name, ranks) for name, counts in REFUSED.items() for ranks in counts}
    assert all(find(name).refusal(ranks) for name, ranks in cases)
    assert run_gloo_program(lab, tmp_path, REFUSED) == cases
