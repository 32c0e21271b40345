"""How far a long command is, where standard error is no terminal."""

from __future__ import annotations

import threading
import time

import pytest

from plink.cli import progress
from plink.cli.progress import stage_progress


def test_a_log_has_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_S_A_LINE", 0.02)
    with stage_progress() as shown:
        shown.stage("connecting", 1)
        shown.step()
        shown.stage("measuring", 21)
        for _ in range(7):
            shown.step()
        told = ""
        deadline = time.monotonic() + 10
        while told.count("measuring: 7 of 21 after 0 s\n") < 2:
            assert time.monotonic() < deadline, told
            time.sleep(0.01)
            told += capsys.readouterr().err
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def test_a_quick_command_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with stage_progress() as shown:
        shown.stage("measuring", 2)
        shown.step()
    assert capsys.readouterr().err == ""
