"""Pending requests: announced in a subtree and not released."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from plink.training.control.ranks import Ranks
from plink.training.control.requests import Request
from plink.training.control.tree_messages import Version

# Of what ranks say that differ, in one sentence.
_MOST_SHOWN = 3


@dataclass(slots=True)
class Pending:
    """Pending request, or several with a tensor in common, which exclude each other.

    Args:
        names: of the requests.
        first_s: when the first was announced here.
        versions: how, and by whom.
        said: in the order in which it came: by whom, this rank or a child for all below it, and
            what was announced together.
        heard: who has announced which.
        is_passed_on: all have.
    """

    names: list[str]
    first_s: float
    versions: list[Version] = field(default_factory=list)
    said: list[tuple[int, tuple[Version, ...]]] = field(default_factory=list)
    heard: set[tuple[str, int]] = field(default_factory=set)
    is_passed_on: bool = False

    @property
    def announced(self) -> Ranks:
        """Ranks that announced it."""
        ranks = Ranks()
        for version in self.versions:
            ranks |= version.ranks
        return ranks

    def add(self, source: int, versions: tuple[Version, ...]) -> None:
        """Record an announcement by `source`, for itself or for all ranks below it."""
        self.said.append((source, versions))
        for new in versions:
            self.heard.add((new.request.name, source))
            for i, known in enumerate(self.versions):
                if known.request == new.request:
                    self.versions[i] = Version(known.request, known.ranks | new.ranks)
                    break
            else:
                self.versions.append(new)

    def absorb(self, other: Pending) -> None:
        """Go on as one: the ranks disagree about their tensors."""
        self.names += other.names
        self.first_s = min(self.first_s, other.first_s)
        self.versions += other.versions
        self.said += other.said
        self.heard |= other.heard

    def is_complete(self, sources: Set[int]) -> bool:
        """Return whether all of these have announced it."""
        return len(self.heard) >= len(sources) and sources <= {source for _, source in self.heard}


def disagreement(versions: Sequence[Version]) -> str:
    """Describe for people how ranks' versions of a request, or of overlapping ones, differ."""
    versions = sorted(versions, key=lambda version: version.ranks.spans)
    name = versions[0].request.name
    shown = versions[:_MOST_SHOWN]
    hidden = len(versions) - len(shown)
    more = [f"{hidden} more"] if hidden else []
    if all(version.request.name == name for version in versions):
        said = [f"{version.request.described()} on {version.ranks}" for version in shown]
        return f"ranks differ in '{name}': it is {', and '.join(said + more)}"
    tensor = shared_tensor([version.request for version in versions])
    said = [f"in '{version.request.name}' on {version.ranks}" for version in shown]
    return f"ranks differ in where '{tensor}' is: {', and '.join(said + more)}"


def shared_tensor(requests: Iterable[Request]) -> str | None:
    """Return a tensor that is in two requests of different names; None where there is none."""
    owners: dict[str, str] = {}
    for request in requests:
        for tensor in request.names:
            if owners.setdefault(tensor, request.name) != request.name:
                return tensor
    return None


def missing_text(name: str, waited_s: float, announced: Ranks, missing: Ranks) -> str:
    """Describe for people which ranks keep the others waiting."""
    tenths = math.floor(10.0 * waited_s + 0.5)
    told = f"{announced} announced it" if announced else "nobody announced it"
    return f"'{name}' has waited {tenths / 10:g} s for {missing}; {told}"
