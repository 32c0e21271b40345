"""Messages and what they are made of."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from plans.strategies import forests
from plink.autotune.protocol.identity import LARGEST_NUMBER, Identity, identity
from plink.autotune.protocol.messages import (
    MOST_PAUSE_S,
    PEER_FIGURES,
    Ask,
    Join,
    Message,
    NewPlan,
    Paused,
    Release,
    Report,
    Watch,
)

numbers = st.integers(0, LARGEST_NUMBER)
identities = st.builds(Identity, numbers, st.integers(0, (1 << 32) - 1))
seconds = st.floats(0.0, 1e9, allow_nan=False)
figures = st.floats(0.0, 2.0**49, width=32)


@st.composite
def reports(draw: st.DrawFn, ranks: int) -> Report:
    begin = draw(st.integers(0, 1 << 52))
    per_rank = st.lists(figures, min_size=ranks, max_size=ranks).map(np.array)
    return Report(
        draw(identities),
        begin,
        begin + draw(st.integers(0, 1000)),
        draw(seconds),
        np.array(draw(st.lists(seconds, max_size=5))),
        draw(st.integers(0, (1 << 53) - 1)),
        {name: draw(per_rank) for name in PEER_FIGURES},
    )


@st.composite
def messages(draw: st.DrawFn) -> tuple[Message, int]:
    """A message, and of how many ranks."""
    forest = draw(forests())
    ranks = forest.ranks
    join = st.builds(
        Join,
        st.integers(0, ranks - 1),
        st.just(ranks),
        st.text(min_size=1, max_size=40),
        identities,
        identities,
    )
    plan = st.builds(
        lambda number, pause_s: NewPlan(identity(number, forest), forest, pause_s),
        numbers,
        st.floats(0.0, MOST_PAUSE_S),
    )
    of_plans = [st.builds(kind, identities) for kind in (Ask, Paused, Release)]
    watch = st.just(Watch())
    return draw(st.one_of(join, reports(ranks), plan, *of_plans, watch)), ranks
