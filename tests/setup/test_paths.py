"""What `scripts/check sizes` says of the files that a command goes through."""

from __future__ import annotations

from checkkit.paths import SITE, probe_path, ring_order_path


def test_a_ring_order_goes_from_the_command_line_to_its_search() -> None:
    files = ring_order_path()
    assert files[0].startswith("plink/cli/")
    assert files[-1].startswith("plink/solvers/")
    assert len(set(files)) == len(files)
    assert all((SITE / file).is_file() for file in files)


def test_a_probe_goes_from_the_command_line_through_measuring() -> None:
    files = probe_path()
    assert files[0].startswith("plink/cli/")
    assert any(file.startswith("plink/measure/") for file in files)
