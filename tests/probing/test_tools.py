"""The table of measuring tools."""

from __future__ import annotations

import dataclasses

import pytest

from plink.measure.probing.adapters.base import ToolOptions
from plink.measure.probing.limits import TOOL_NAMES, UPLINKS
from plink.measure.probing.tools import TOOLS


def test_the_command_line_offers_every_tool() -> None:
    assert (*TOOLS, UPLINKS) == TOOL_NAMES


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_recorded_are_options(name: str) -> None:
    known = {field.name for field in dataclasses.fields(ToolOptions)}
    assert known.issuperset(TOOLS[name].options)
