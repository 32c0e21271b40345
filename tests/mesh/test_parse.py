"""A mesh as text and as JSON."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats.mesh import Mesh, MeshDimension, parse_mesh
from plink.formats.structs import convert, encode

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
ALGORITHMS = st.sampled_from(["ring", "chain", "bcube:2", "openmpi-rabenseifner"])


@settings(max_examples=25)
@given(
    st.lists(
        st.builds(MeshDimension, NAMES, st.integers(1, 6), ALGORITHMS, st.integers(1, 10**12)),
        min_size=1,
        max_size=5,
        unique_by=lambda one: one.name,
    ),
    st.integers(0, 1),
)
def test_what_is_written_is_read(dimensions, left_out):
    assume(any(one.size > 1 for one in dimensions[left_out:]))
    text = ",".join(f"{one.name}={one.size}" for one in dimensions)
    carried = dimensions[left_out:]
    traffic = ", ".join(f"{one.name} = {one.algorithm}:{one.size_bytes}" for one in carried)
    found = parse_mesh(text, traffic, 1)
    assert found.dimensions[left_out:] == carried
    assert all(one.size_bytes == 0 for one in found.dimensions[:left_out])
    assert found.text == text
    assert convert(encode(found), Mesh, "file") == found


def test_each_dimension_runs_what_its_name_says():
    found = parse_mesh("dp=2,pp=2,ep=2,tp=2", None, 500)
    assert [one.algorithm for one in found.dimensions] == ["ring", "chain", "all-to-all", "ring"]
    assert {one.size_bytes for one in found.dimensions} == {500}
    assert found.ranks == 16
    assert parse_mesh("pp=2,tp=2", "pp=ring:1KB", 1).traffic == "pp ring 1 KB, tp nothing"


@pytest.mark.parametrize(
    ("mesh", "traffic", "told"),
    [
        ("dp", None, "expected NAME=VALUE"),
        ("dp=0", None, "expected a whole number of at least 1"),
        ("dp=2,dp=2", None, "twice"),
        ("dp=2", "tp=1", "no dimension of the mesh"),
        ("dp=2", "dp=ring", "not a size"),
        ("dp=2", "dp=-1", "not a size"),
        ("dp=1", None, "has traffic"),
        ("dp=99999,tp=9", None, "more than"),
        ("a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=2", None, "dimensions, more than"),
        ("2d=2", None, "expected NAME=VALUE"),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(mesh, traffic, told):
    with pytest.raises(WrongUseError, match=told):
        parse_mesh(mesh, traffic, 1)


@pytest.mark.parametrize(
    "mesh",
    [
        7,
        [],
        [{"name": "tp"}],
        [{"name": "tp", "size": 2, "algorithm": "ring", "size_bytes": 0}],
        [{"name": "a b", "size": 2, "algorithm": "ring", "size_bytes": 1}],
        [{"name": "tp", "size": 2, "algorithm": "RING\n", "size_bytes": 1}],
        [{"name": "tp", "size": 1 << 40, "algorithm": "ring", "size_bytes": 1}],
        [{"name": "tp", "size": 2, "algorithm": "ring", "size_bytes": 1}] * 2,
    ],
)
def test_a_hostile_file_is_refused(mesh):
    with pytest.raises(WrongUseError):
        convert({"dimensions": mesh}, Mesh, "file")


@given(st.text(max_size=30), st.none() | st.text(max_size=30))
def test_any_text_is_a_mesh_or_refused(mesh, traffic):
    with contextlib.suppress(WrongUseError):
        assert isinstance(parse_mesh(mesh, traffic, 1), Mesh)
