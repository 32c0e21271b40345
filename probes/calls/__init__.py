"""Reverse connections: agents on unreachable hosts call plink, which runs commands there.

The connection is SSH turned round: the agent connects, and is the server on that connection. Both
prove that they know one secret, from which both of their keys are derived.
"""
