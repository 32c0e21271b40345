"""What a bench refuses before anything is sent."""

import pytest

from plink.bench.clients.base import Workload
from plink.bench.request import check_workload
from plink.errors import WrongUseError


def test_a_launch_of_a_day_is_allowed_and_a_longer_one_names_the_options() -> None:
    day = Workload("ring", 4000, warmups=40, repetitions=1400, timeout_s=60.0)
    assert day.launch_limit_s == 86_400.0
    check_workload(day, ranks=4)
    longer = Workload("ring", 4000, warmups=1, repetitions=40_000, timeout_s=60.0)
    with pytest.raises(WrongUseError, match=r"27\.8 days, 40001 allreduces of up to 60 s") as caught:
        check_workload(longer, ranks=4)
    hint = caught.value.hint or ""
    assert all(option in hint for option in ("--repetitions", "--warmups", "--timeout"))
