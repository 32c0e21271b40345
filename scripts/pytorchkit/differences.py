"""Where plink differs from Gloo in PyTorch's own tests (`docs/torch-differences.md`)."""

from __future__ import annotations

BY_NAME = {
    "test_get_backend": "the group's backend is called plink",
    "test_monitored_barrier_gloo": "`dist.monitored_barrier` takes Gloo alone, by name",
    "test_monitored_barrier_gloo_subgroup": "`dist.monitored_barrier` takes Gloo alone, by name",
}
"""Test that fails on plink alone to its reason: a backend's name is compared."""
