"""Of what a failed launcher says, the cause is shown: the first line that gives a reason."""

from __future__ import annotations

import pytest

from plink.deploy.remote.launcher import LauncherExit
from plink.deploy.verify import _failure

_RULE = "-" * 60


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (
            (
                "No ED25519 host key is known for n06 and you have requested strict checking.\n"
                "Host key verification failed.\n"
                f"{_RULE}\nORTE was unable to reliably start one or more daemons.\n{_RULE}\n"
            ),
            "No ED25519 host key is known for n06 and you have requested strict checking.",
        ),
        (
            (
                "Warning: Permanently added 'n06' (ED25519) to the list of known hosts.\n"
                "[n06:4711] setpgid(0, 0) failed: Operation not permitted\n"
                f"{_RULE}\nmpirun was unable to find the program\n"
            ),
            "mpirun was unable to find the program",
        ),
        ("warning: only this\n", "warning: only this"),
        ("", "no output"),
    ],
)
def test_the_first_line_with_a_reason_is_shown(stderr: str, reason: str) -> None:
    assert str(_failure(LauncherExit(1, "", stderr))).endswith(f": {reason}")
