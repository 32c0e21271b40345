"""Faults that happen, that have no occasion to, and that cannot be brought about."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from labkit import faults, process_faults
from labkit.errors import LabError
from labkit.faults import KINDS, Fault, Injector, Remedy, from_json, to_json

SCRIPT = [Fault("n1", 0, "kill"), Fault("n1", 2, "cut"), Fault("n2", 1, "one-way", ("n3",))]


@pytest.fixture
def undone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A lab in which killing fails; what was undone in it, in order."""
    names: list[str] = []

    def happens(_: object, fault: Fault) -> Remedy:
        return lambda: names.append(fault.kind)

    def fails(_: object, fault: Fault) -> Remedy:
        raise LabError(f"nothing was started on {fault.host}")

    monkeypatch.setattr(faults, "Registry", lambda _: SimpleNamespace(find=str))
    for kind in KINDS:
        monkeypatch.setitem(KINDS, kind, fails if kind == "kill" else happens)
    return names


def test_what_is_due_happens_once_and_is_undone(undone: list[str]) -> None:
    with Injector("lab", SCRIPT) as injector:
        injector.reach("n2", 0)
        assert injector.waiting == tuple(SCRIPT)
        for number in (1, 1, 2):
            injector.reach("n2", number)
        assert injector.waiting == tuple(SCRIPT[:2])
    assert undone == ["one-way"]
    assert injector.failed == ()


def test_what_fails_is_told_and_the_rest_undone(undone: list[str]) -> None:
    with Injector("lab", SCRIPT) as injector:
        injector.reach("n1", 5)
    assert undone == ["cut"]
    ((fault, error),) = injector.failed
    assert (fault, str(error)) == (SCRIPT[0], "nothing was started on n1")


def test_nothing_to_kill_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_faults, "APPEARS_WITHIN_S", 0.0)
    monkeypatch.setattr(process_faults, "programs_on", lambda *_: [])
    with pytest.raises(LabError, match="nothing was started on n1 within 0 s"):
        process_faults.kill(SimpleNamespace(), "n1")  # type: ignore[arg-type]


def test_a_script_is_text() -> None:
    assert from_json(to_json(SCRIPT)) == SCRIPT
