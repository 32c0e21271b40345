"""The table of measuring tools."""

from __future__ import annotations

import dataclasses

import pytest

from plink.probing.adapters.base import ToolOptions
from plink.probing.limits import TOOL_NAMES, UPLINKS
from plink.probing.tools import TOOLS


def test_the_command_line_offers_every_tool() -> None:
    assert (*TOOLS, UPLINKS) == TOOL_NAMES


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_recorded_are_options(name: str) -> None:
    known = {field.name for field in dataclasses.fields(ToolOptions)}
    assert known.issuperset(TOOLS[name].options)
