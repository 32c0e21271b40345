"""Programs that end with the program that started them, even if that is killed."""

from __future__ import annotations

# What such a command line begins with. It is the starting thread's end that counts.
BOUND = ("setpriv", "--pdeathsig", "KILL")
