"""The table of measuring tools."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from plink.base.errors import WrongUseError
from plink.formats.structs import FormatError
from plink.measure.probing.request import resume_tool
from plink.measure.probing.tools import TOOLS, UplinkOptions
from plink.probes.options import EchoOptions, FpingOptions, Iperf3Options


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_recorded_is_gone_on_with(name: str) -> None:
    tool = TOOLS[name]
    recorded = json.loads(json.dumps(tool().to_record()))
    assert resume_tool(tool, {}, recorded, "c.json").to_record() == recorded


def test_listing_the_tools_imports_nothing_heavy() -> None:
    program = "import sys, plink.measure.probing.tools; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert not {"numpy", "paramiko", "scipy"} & set(done.stdout.split())


def test_more_passes_than_recorded_are_so_many_more() -> None:
    recorded = EchoOptions(passes=5).to_record()
    assert resume_tool(EchoOptions, {"passes": 8}, recorded, "c").extra_passes == 3
    assert resume_tool(EchoOptions, {"passes": 4}, recorded, "c").extra_passes == 0
    assert resume_tool(EchoOptions, {}, recorded, "c") == EchoOptions(passes=5)
    # A file that records no passes.
    assert resume_tool(EchoOptions, {"passes": 8}, {"count": 9}, "c").extra_passes == 7
    assert resume_tool(FpingOptions, {}, {"count": 9}, "c") == FpingOptions(count=9)


def test_other_transfers_than_recorded_do_not_compare() -> None:
    recorded = Iperf3Options(duration_s=3, streams=2).to_record()
    assert resume_tool(Iperf3Options, {"duration_s": 5}, recorded, "c") == Iperf3Options(
        duration_s=5, streams=2
    )
    with pytest.raises(WrongUseError, match="c: was measured with streams=2, not 4"):
        resume_tool(Iperf3Options, {"streams": 4}, recorded, "c")
    with pytest.raises(WrongUseError, match="c: was measured without congestion, not reno"):
        resume_tool(UplinkOptions, {"congestion": "reno"}, UplinkOptions().to_record(), "c")


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": True},
        {"count": 0},
        {"count": 10_001},
        {"passes": "30"},
        {"precision_percent": 101.0},
        {"duration_s": 0},
        {"streams": True},
        {"direction": "up"},
        {"congestion": "; reboot"},
        {"nics": 3},
    ],
)
def test_a_recorded_option_that_is_not_valid_is_refused(wrong: dict[str, object]) -> None:
    for tool in TOOLS.values():
        with pytest.raises(FormatError) as caught:
            resume_tool(tool, {}, wrong, "c")
        assert caught.value.place in wrong
