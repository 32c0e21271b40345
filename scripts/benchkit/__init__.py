"""What the benchmark scripts share. They need plink installed, and root for the lab."""
