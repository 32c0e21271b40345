"""What a user may name as a file to read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from plink.base import opening
from plink.base.opening import open_input

_MOST = 1 << 20


def _read(path: Path | str) -> bytes:
    with open_input(str(path), _MOST) as stream:
        return stream.read()


def test_a_pipe_waits_for_its_writer_and_for_all_that_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        time.sleep(0.2)
        with pipe.open("wb") as stream:
            for piece in (b"first ", b"last"):
                stream.write(piece)
                stream.flush()
                time.sleep(0.2)

    writer = threading.Thread(target=write)
    writer.start()
    assert _read(pipe) == b"first last"
    writer.join()


def test_a_pipe_to_which_nobody_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "WRITER_WAIT_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"is a pipe to which no process wrote for 0\.1 s"):
        _read(tmp_path / "pipe")


def test_a_pipe_without_end_is_left_at_the_limit(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'exec cat /dev/zero >"$1"', "sh", pipe]) as endless:
        assert _MOST < len(_read(pipe)) < 2 * _MOST
        endless.wait()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/null"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(OSError, match="is a device, expected a file"):
        _read(device)


def test_a_file_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    os.truncate(tmp_path / "file", 1 << 40)
    with pytest.raises(OSError, match="holds more than 1 MiB"):
        _read(tmp_path / "file")


@pytest.mark.parametrize(
    "line",
    [
        '{0} -c "{1}" <(sleep .2; printf %s abc)',
        'printf %s abc | {0} -c "{1}" /dev/stdin',
        '{0} -c "{1}" /dev/stdin <<<abc',
        '{0} -c "{1}" /dev/fd/5 5< <(printf %s abc)',
    ],
)
def test_what_a_shell_puts_in_place_of_a_file_is_read(line: str) -> None:
    program = (
        "import sys; from plink.base.opening import open_input; "
        "print(open_input(sys.argv[1], 99).read().strip().decode())"
    )
    done = subprocess.run(
        ["bash", "-c", line.format(sys.executable, program)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("abc\n", "")
