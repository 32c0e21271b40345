"""The groups of a mesh are those that PyTorch's DeviceMesh makes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.solvers.collectives.mesh import list_groups

dist = pytest.importorskip("torch.distributed")


@settings(max_examples=6)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda sizes: sizes != [1]))
def test_the_groups_of_every_rank(sizes):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    ranks = 1
    for size in sizes:
        ranks *= size
    names = tuple(f"d{number}" for number in range(len(sizes)))
    for rank in range(ranks):
        dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
        try:
            mesh = init_device_mesh("cpu", tuple(sizes), mesh_dim_names=names)
            for number, name in enumerate(names):
                theirs = dist.get_process_group_ranks(mesh.get_group(name))
                ours = [group for group in list_groups(sizes, number).tolist() if rank in group]
                assert ours == [theirs]
        finally:
            dist.destroy_process_group()
