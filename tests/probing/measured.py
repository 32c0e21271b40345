"""A lab, and what plink measured in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.lab import Lab
from support.plink_command import Done, plink, ssh_options

# A pair that was read at a bad moment would later seem to have changed.
PRECISELY = ("--count", "2000", "--precision", "0")


@dataclass(frozen=True)
class Measured:
    """A lab and the cluster file that was measured in it."""

    lab: Lab
    file: Path

    def check(self, *options: object) -> Done:
        return plink("probe", "--check", self.file, *ssh_options(self.lab), *options)

    def found(self, *options: object) -> tuple[int, dict[str, Any]]:
        done = self.check("--json", *options)
        found: dict[str, Any] = json.loads(done.stdout)
        return done.code, found
