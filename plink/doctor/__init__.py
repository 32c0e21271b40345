"""Find what slows a cluster down: findings in words from what was measured. Does no I/O."""
