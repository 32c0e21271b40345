"""Ranks that learn in which order they reduce from the graph that autograd shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import plink.torch
from pytorch import graph_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing


def options(**control: Any) -> dict[str, Any]:
    return {"pg_options": plink.torch.Options(control=plink.torch.Control(mode="graph", **control))}


def test_statistics_are_reduced_forward_and_backward_without_messages(tmp_path: Path) -> None:
    found = results(checks.normalizing, 3, tmp_path, **options())
    for parameters, sent, said, expected in found:
        assert parameters == pytest.approx(expected, abs=1e-5)
        # One more to let the order hold; two at a rank that has a child each.
        assert sent[1] - sent[0] <= 2
        assert sent[2] == sent[1]
        assert not said
    assert found[0][0] == found[1][0] == found[2][0]
