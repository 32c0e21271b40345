"""Errors that nobody can catch are printed, but for one that means nothing."""

from __future__ import annotations

import gc

import paramiko.file
import pytest

from plink.cli.stderr import tell_unraisable


class Collected(paramiko.file.BufferedFile):
    """A file whose buffer is closed before it is collected."""

    def break_buffer(self) -> None:
        self._wbuffer.write(b"rest")
        self._wbuffer.close()


class Broken:
    def __del__(self) -> None:
        raise ValueError("told")


def test_a_collected_channel_is_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.unraisablehook", tell_unraisable)
    file = Collected()
    file.break_buffer()
    del file
    gc.collect()
    assert capsys.readouterr().err == ""


def test_other_errors_are_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.unraisablehook", tell_unraisable)
    Broken()
    gc.collect()
    assert "ValueError: told" in capsys.readouterr().err
