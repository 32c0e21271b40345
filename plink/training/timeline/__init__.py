"""Timeline of each named collective on each rank: written while they run, and read again.

A file holds one rank's events in Chrome's trace format, which Perfetto opens, too.
"""
