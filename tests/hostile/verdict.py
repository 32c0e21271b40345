"""What every verb owes to every input, and what it still owes after one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hostile.texts import CANARY
from hostile.valid import SECRET

# `plink.base.errors` and `docs`: done, failed, wrong use, done in part, changed. An interrupt, 130,
# cannot be, for there is none.
_CODES = {0, 1, 2, 3, 4}
_MOST_CPU_S = 5.0
_MOST_LETTERS = 2000
# What click and rich put around the text, and how rich draws progress.
_OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|[0-9]*[AKG])|\r(?!pwned)")


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Args:
        code: the exit code; None where an exception came out.
        stdout, stderr: what a terminal would have been sent.
        raised: where and which exception came out.
        cpu_s: processor time.
        started: programs.
        changed: files and folders elsewhere than where the verb was told to write.
        spoilt: files that were read and are not what they were.
    """

    code: int | None
    stdout: str
    stderr: str
    raised: str | None
    cpu_s: float
    started: list[str]
    changed: list[str]
    spoilt: list[str]


def faults(outcome: Outcome) -> Iterator[str]:
    """What is wrong with it."""
    if outcome.raised is not None:
        yield f"raised {outcome.raised}"
    elif outcome.code not in _CODES:
        yield f"ended with the exit code {outcome.code}"
    else:
        yield from _told(outcome)
    for text in (outcome.stdout, outcome.stderr):
        steering = re.search(r"[^\n\t]{0,20}" + _STEERING, _OWN.sub("", text))
        if steering is not None:
            yield f"printed {steering[0]!r}"
        if SECRET[:12] in text:
            yield "printed a secret"
    if outcome.started:
        yield f"started {outcome.started[0]}"
    if outcome.changed:
        yield f"wrote {outcome.changed[0]}"
    if outcome.spoilt:
        yield f"changed its input {outcome.spoilt[0]}"
    if outcome.cpu_s > _MOST_CPU_S:
        yield f"took {outcome.cpu_s:.1f} s of the processor"


_STEERING = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


def _told(outcome: Outcome) -> Iterator[str]:
    """Whether there is one sentence where there is to be one, and none where not."""
    lines = _OWN.sub("", outcome.stderr).splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if "Traceback" in outcome.stderr:
        yield "printed a traceback"
    if outcome.code in (1, 2):
        if len(errors) != 1:
            yield f"said {len(errors)} errors: {lines[-3:]!r}"
        elif errors[0].endswith(".") and not errors[0].endswith("..."):
            yield f"said no sentence as the others are: {errors[0][-80:]!r}"
        elif len(errors[0]) > _MOST_LETTERS:
            yield f"said {len(errors[0])} letters: {errors[0][:200]!r}"
        elif not errors[0].removeprefix("error: ").strip():
            yield "said an empty error"
    elif errors:
        yield f"ended with {outcome.code} and the error {errors[0]!r}"
    if outcome.code == 3 and not any(line.startswith("warning: ") for line in lines):
        yield "ended with 3 and no warning"


__all__ = ["CANARY", "Outcome", "faults"]
