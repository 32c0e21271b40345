"""Schedules as others read and write them: GOAL's text, and Chakra's execution traces."""
