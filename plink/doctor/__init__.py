"""What slows a cluster down: findings in words, from what was measured. Nothing here does I/O."""
