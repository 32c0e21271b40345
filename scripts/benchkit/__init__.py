"""What the benchmarks share. They need plink installed, and root for the lab."""
