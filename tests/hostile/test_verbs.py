"""Every verb with every hostile input: what it owes to each of them is in `verdict.py`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest

from hostile import texts
from hostile.places import PLACES
from hostile.session import Session
from hostile.verbs import VERBS, verbs
from plink.cli import cli
from support.seeds import IS_SOAK, draw_seeds

# One of so many inputs is drawn for a verb, and one of the square of it of the changes of fields; 1
# tries all, in many minutes.
SHARES = int(os.environ.get("PLINK_TEST_HOSTILE_SHARES", "8" if IS_SOAK else "20"))
SEED = next(draw_seeds(1))
_MOST_SHOWN = 20


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(SHARES, SEED) as session:
        yield session


def test_every_verb_has_its_line() -> None:
    assert set(VERBS) == {name for name, _ in verbs(cli)}


def test_hundreds_of_inputs_are_written_down() -> None:
    tables: tuple[Mapping[str, object], ...] = (
        *(texts.NAMES, texts.NUMBERS, texts.VALUES, texts.CONTENTS, texts.ARCHIVES),
        *(texts.HOST_LISTS, texts.MATRICES, texts.SSH_CONFIGS, texts.SECRETS, texts.KNOWN_HOSTS),
        PLACES,
    )
    assert sum(map(len, tables)) >= 300


@pytest.mark.timeout(2250)
@pytest.mark.parametrize("verb", VERBS)
def test_it_withstands_every_input(session: Session, verb: str) -> None:
    count, faulty = 0, []
    for name, faults in session.tried(verb):
        count += 1
        faulty += [f"{name}: {fault}" for fault in faults]
    assert count >= len(VERBS[verb])
    found = f"{len(faulty)} faults with PLINK_TEST_SEED={SEED}:\n"
    assert not faulty, found + "\n".join(faulty[:_MOST_SHOWN])
