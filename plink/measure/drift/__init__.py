"""Drift check: whether a cluster file still describes its network, from a few new readings.

Pure: matrices in, judgement out.
"""
