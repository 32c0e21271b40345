"""Whether a cluster file still describes its network: what to measure again, and the verdict.

Pure: matrices in, judgement out.
"""
