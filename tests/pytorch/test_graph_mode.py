"""Ranks that learn in which order they reduce from the graph that autograd shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import plink.torch
from plink.base.errors import WrongUseError
from pytorch import graph_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing


def options(**control: Any) -> dict[str, Any]:
    return {"pg_options": plink.torch.Options(control=plink.torch.Control(mode="graph", **control))}


def test_ranks_follow_a_graph_leave_it_where_it_does_not_hold_and_learn_again(
    tmp_path: Path,
) -> None:
    found = results(checks.normalizing, 3, tmp_path, **options())
    for (parameters, sent, said, expected), *_ in found:
        assert parameters == pytest.approx(expected, abs=1e-5)
        # One more lets the order hold, and two at a rank that has to tell both others.
        assert sent[1] - sent[0] <= 2
        assert sent[2] == sent[1]
        assert not said
    assert found[0][0][0] == found[1][0][0] == found[2][0][0]
    for _, validated, *_ in found:
        assert validated == ([3.0] * 3, [3.0] * 2, 0)
    for _, _, stalled, *_ in found:
        told = r"'layers\.\d\.\w+' has waited [\d.]+ s for rank 2; ranks 0-1 announced it"
        times_s = [at_s for at_s, text in stalled if re.fullmatch(told, text)]
        assert times_s
        assert times_s[0] >= 1.0
    for *_, (value, refused), _, said in found:
        assert value == [1.0]
        assert "'head.bias' is pending already" in refused[0]
        assert "a rank cannot join where the graph decides" in refused[1]
        assert "float32[4] on ranks 0, 2, and sum all-reduce of float32[5] on rank 1" in refused[2]
        told = [text for text in said if text.endswith("until they have learnt a graph again")]
        assert "'metric' was not in the iteration that was learnt: ranks agree as in" in told[0]
        assert "'head.bias' is waited for, and 'left 0 forward', which comes" in told[1]
        assert len(told) == 2
    assert [one[-2] for one in found] == [lost := "plink: rank 1 closed its engine", "left", lost]


def test_ranks_with_different_graphs_hear_it_and_deterministic_ones_repeat(tmp_path: Path) -> None:
    found = results(checks.branching, 3, tmp_path, **options())
    for parameters, said, is_equal, accumulated in found:
        assert parameters == found[0][0]
        assert "ranks have not learnt the same graph, and go on as in mode 'tree'" in said[0]
        assert "'tree': ranks 0, 2: 3 collectives, " in said[0]
        assert is_equal
        assert accumulated == (found[0][-1][0], 0, [])


def test_what_would_depend_on_timing_is_refused() -> None:
    control = plink.torch.Control()
    with pytest.raises(WrongUseError, match="timing decides what shares a buffer") as told:
        plink.torch.Options(deterministic=True, control=control)
    assert "mode='graph'" in str(told.value.hint)
    plink.torch.Options(deterministic=True, control=plink.torch.Control(fusion_bytes=0))
