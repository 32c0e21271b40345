"""Where processes meet that nothing but `plink renumber` or `plink.mpi_key` connects."""

from __future__ import annotations

import pytest

from plink.base.errors import WrongUseError
from plink.renumber.standalone import find_meeting


def test_a_given_place_comes_before_those_of_the_environment() -> None:
    job = {"MASTER_ADDR": "n01", "MASTER_PORT": "29500"}
    assert find_meeting(None, job) == ("n01", 29501)
    assert find_meeting(None, {**job, "PLINK_MEETING": "n02:3"}) == ("n02", 3)
    assert find_meeting("n03:4", {**job, "PLINK_MEETING": "n02:3"}) == ("n03", 4)


@pytest.mark.parametrize("given", [None, "x"])
def test_an_error_names_the_argument(given: str | None) -> None:
    with pytest.raises(WrongUseError) as caught:
        find_meeting(given, {})
    assert caught.value.arguments == {"meeting": given}
