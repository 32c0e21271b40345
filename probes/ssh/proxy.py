"""A ProxyCommand that ends when it is closed."""

from __future__ import annotations

import subprocess
from contextlib import suppress

import paramiko

_END_WAIT_S = 1.0


class ProxyCommand(paramiko.ProxyCommand):
    """paramiko's own signals the process, and never waits for it nor closes its pipes."""

    def close(self) -> None:
        """End the process; may be called again."""
        process = self.process
        process.terminate()
        try:
            process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
