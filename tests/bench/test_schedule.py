from hypothesis import given
from hypothesis import strategies as st

from plink.bench.schedule import Launch, schedule


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**63 - 1))
def test_every_order_once_a_round_and_rounds_in_turn(orders: int, rounds: int, seed: int) -> None:
    launches = list(schedule(orders, rounds, seed))
    assert [launch.round for launch in launches] == [
        number for number in range(rounds) for _ in range(orders)
    ]
    for number in range(rounds):
        once = [launch.order_index for launch in launches if launch.round == number]
        assert sorted(once) == list(range(orders))
    assert launches == list(schedule(orders, rounds, seed))


def test_rounds_are_shuffled_apart() -> None:
    def of_round(number: int, launches: list[Launch]) -> list[int]:
        return [launch.order_index for launch in launches if launch.round == number]

    launches = list(schedule(8, 6, seed=1))
    assert len({tuple(of_round(number, launches)) for number in range(6)}) > 1
