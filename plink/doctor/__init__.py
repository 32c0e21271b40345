"""Diagnosis of slow clusters: findings in words from measurements. Does no I/O."""
