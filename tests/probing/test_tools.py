"""The table of measuring tools."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from plink.base.errors import WrongUseError
from plink.measure.probing.tools import TOOLS, UplinkOptions
from plink.probes.options import EchoOptions, FpingOptions, Iperf3Options


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_recorded_is_gone_on_with(name: str) -> None:
    tool = TOOLS[name]
    recorded = json.loads(json.dumps(tool.options().to_record()))
    assert tool.resume({}, recorded, "c.json").to_record() == recorded


def test_listing_the_tools_imports_nothing_heavy() -> None:
    program = "import sys, plink.measure.probing.tools; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/"
    )
    assert not {"numpy", "paramiko", "scipy"} & set(done.stdout.split())


def test_more_passes_than_recorded_are_so_many_more() -> None:
    recorded = EchoOptions(passes=5).to_record()
    assert TOOLS["echo"].resume({"passes": 8}, recorded, "c").extra_passes == 3
    assert TOOLS["echo"].resume({"passes": 4}, recorded, "c").extra_passes == 0
    assert TOOLS["echo"].resume({}, recorded, "c") == EchoOptions(passes=5)
    # A file that records no passes.
    assert TOOLS["echo"].resume({"passes": 8}, {"count": 9}, "c").extra_passes == 7
    assert TOOLS["fping"].resume({}, {"count": 9}, "c") == FpingOptions(count=9)


def test_other_transfers_than_recorded_do_not_compare() -> None:
    recorded = Iperf3Options(duration_s=3, streams=2).to_record()
    assert TOOLS["iperf3"].resume({"duration_s": 5}, recorded, "c") == Iperf3Options(
        duration_s=5, streams=2
    )
    with pytest.raises(WrongUseError, match="c: was measured with streams=2, not 4"):
        TOOLS["iperf3"].resume({"streams": 4}, recorded, "c")
    with pytest.raises(WrongUseError, match="c: was measured without congestion, not reno"):
        TOOLS["uplinks"].resume({"congestion": "reno"}, UplinkOptions().to_record(), "c")


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration_s": 0, "streams": 1},
        {"duration_s": 1, "streams": True},
        {"duration_s": 1, "streams": 1, "direction": "up"},
        {"duration_s": 1, "streams": 1, "congestion": "; reboot"},
    ],
)
def test_a_recorded_option_that_is_not_valid_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(WrongUseError, match=r"^c: options\.\w+ is "):
        TOOLS["iperf3"].resume({}, wrong, "c")
