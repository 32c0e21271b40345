"""Diagnosis of slow clusters: findings in words, from measurements given to it. Does no I/O."""
