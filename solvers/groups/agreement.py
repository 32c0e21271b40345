"""How well two groupings of the same hosts agree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def adjusted_mutual_information(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """1 for groupings that are the same but for names, about 0 for unrelated ones.

    Mutual information less what chance gives, over the mean of the entropies less the same
    (Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison", JMLR 11,
    2010), as scikit-learn has it.

    Args:
        first, second: each host's group.

    Raises:
        ValueError: of different lengths, or empty.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected two groupings, found {len(first)} and {len(second)} hosts")
    one, other = _numbered(first), _numbered(second)
    if one == other:
        # Said here, so that rounding does not.
        return 1.0
    # Takes a second to import, and callers import this module for small things too.
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415

    return float(adjusted_mutual_info_score(one, other))


def _numbered(groups: Sequence[Hashable]) -> list[int]:
    """The groups by number, in the order in which they first appear."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(group, len(numbers)) for group in groups]
