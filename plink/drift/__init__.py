"""Whether a cluster file still describes its network: which pairs to measure again, and the verdict.

Pure: matrices in, judgement out.
"""
