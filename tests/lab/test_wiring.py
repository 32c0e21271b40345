"""The cables: a tree, shaped at both ends of what has a rate, with names the kernel takes."""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from labkit import wiring
from labkit.shape import RackShape, RowShape, Shape, check_shape
from labkit.state import checked_lab_name
from labkit.topology import Topology, place

LONGEST_NAME = "abcdefghij-9"


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    rates = st.none() | st.integers(8_000, 10**12)
    hops = st.integers(0, 4)
    rows = draw(st.lists(st.builds(RowShape, rates, hops), max_size=3))
    row = st.integers(0, len(rows) - 1) if rows else st.none()
    racks = draw(
        st.lists(
            st.builds(RackShape, st.integers(1, 20), rates, rates, hops, row),
            min_size=1,
            max_size=6,
        )
    )
    shape = check_shape(Shape(tuple(racks), tuple(rows)))
    return place(LONGEST_NAME, shape, draw(st.integers(0, 99)), IPv4Network("10.140.3.0/24"))


@given(topologies())
def test_everything_hangs_together_without_a_loop(topology: Topology) -> None:
    cables = list(wiring.cables(topology))
    stations = {wiring.MACHINE, *wiring.elements(topology)}
    assert len(cables) == len(stations) - 1
    reached, frontier = {"spine"}, {"spine"}
    while frontier:
        frontier = {
            cable.lower.element for cable in cables if cable.upper.element in frontier
        } - reached
        reached |= frontier
    assert reached == stations


@given(topologies())
def test_names_are_unique_and_fit_the_kernel(topology: Topology) -> None:
    names = [wiring.namespace(topology.lab, element) for element in wiring.elements(topology)]
    assert len(set(names)) == len(names)
    ends = [end for cable in wiring.cables(topology) for end in (cable.lower, cable.upper)]
    assert max(len(end.interface) for end in ends) <= wiring.MAX_INTERFACE_NAME
    assert max(Counter(ends).values()) == 1
    on_machine = [end.interface for end in ends if end.element == wiring.MACHINE]
    assert on_machine == [f"pl-{topology.lab}"]


@given(topologies())
def test_both_ends_of_every_link_have_its_rate(topology: Topology) -> None:
    rates = {}
    for cable in wiring.cables(topology):
        rates[cable.lower] = cable.lower_rate_bits
        rates[cable.upper] = cable.upper_rate_bits
    expected = {host.name: host.rate_bits for host in topology.hosts}
    expected |= {switch.name: switch.uplink_rate_bits for switch in topology.switches}
    shaped = set()
    for element, rate_bits in expected.items():
        ends = wiring.shaped_ends(topology, element)
        assert [rates[end] for end in ends] == [rate_bits, rate_bits]
        shaped |= set(ends)
    assert all(rate is None for end, rate in rates.items() if end not in shaped)


@given(topologies())
def test_the_way_up_has_as_many_extra_switches_as_asked(topology: Topology) -> None:
    upwards = {cable.lower.element: cable.upper.element for cable in wiring.cables(topology)}
    for switch in topology.switches:
        station, steps = switch.name, 0
        while station != switch.parent:
            station, steps = upwards[station], steps + 1
        assert steps == switch.hops + 1


def test_the_longest_name_of_a_lab_is_allowed() -> None:
    assert len(wiring.machine_interface(checked_lab_name(LONGEST_NAME))) == 15
