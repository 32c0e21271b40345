"""Numbers that the command line shows without importing what measures."""

# The keys of plink.probing.tools.TOOLS.
TOOL_NAMES = ("echo", "fping")
# Probes per direction of a pair where the user does not say (docs/benchmarks.md, Probing).
DEFAULT_COUNTS = {"echo": 300, "fping": 30}
MAX_COUNT = 10_000
