"""Numbers that the command line shows without importing what measures."""

# The keys of plink.probing.tools.TOOLS.
TOOL_NAMES = ("echo", "fping")
# Probes per direction of a pair at most, where the user does not say (docs/benchmarks.md, Probing).
DEFAULT_COUNTS = {"echo": 2000, "fping": 30}
# They stop earlier once the reading is known so precisely (the tools that can).
DEFAULT_PRECISION_PERCENT = 2.0
MAX_COUNT = 10_000
