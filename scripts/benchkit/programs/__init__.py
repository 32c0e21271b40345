"""Programs that benchmarks start, on hosts of a lab or here: `python -m benchkit.programs.NAME`."""
