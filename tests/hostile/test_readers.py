"""Every reader of what other programs say with every hostile message."""

from __future__ import annotations

import contextlib
import os
import random
import time
from functools import partial
from pathlib import Path

import pytest

from hostile.readers import READERS, Reader, contents
from plink.base.text import printable
from support.cpu_time import least_cpu_s
from support.seeds import IS_SOAK, with_seeds

# One of so many contents is drawn for a reader, and some at least; 1 tries all.
SHARES = int(os.environ.get("PLINK_TEST_HOSTILE_SHARES", "4" if IS_SOAK else "10"))
_LEAST = 20
_MOST_CPU_S = 2.0
_MOST_LETTERS = 2000


@pytest.mark.parametrize("name", READERS)
@with_seeds(1)
def test_it_reads_or_refuses(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, draw = READERS[name], random.Random(f"{seed} {name}")
    every = list(contents(reader))
    valid, hostile = every[: len(reader.valid)], every[len(reader.valid) :]
    faulty = []
    for content in (content for _, content in valid):
        if fault := _fault(reader, content, is_valid=True):
            faulty.append(f"what is valid: {fault}")
    for title, content in draw.sample(hostile, max(len(hostile) // SHARES, _LEAST)):
        if fault := _fault(reader, content, is_valid=False):
            faulty.append(f"{title}: {fault}")
    assert not faulty, "\n".join(faulty[:20])


def _fault(reader: Reader, content: bytes, *, is_valid: bool) -> str | None:
    began_s = time.process_time()
    try:
        reader.read(content)
    except reader.refusals as error:
        text = str(error)
        if is_valid:
            return f"refused: {text}"
        if not text or text != printable(text) or len(text) > _MOST_LETTERS:
            return f"refused with {text[:200]!r}"
    except Exception as error:
        return f"raised {error!r}"[:300]
    cpu_s = time.process_time() - began_s
    if cpu_s > _MOST_CPU_S:
        cpu_s = least_cpu_s(partial(_try_to_read, reader, content), _MOST_CPU_S)
    return f"took {cpu_s:.1f} s" if cpu_s > _MOST_CPU_S else None


def _try_to_read(reader: Reader, content: bytes) -> None:
    with contextlib.suppress(Exception):
        reader.read(content)
