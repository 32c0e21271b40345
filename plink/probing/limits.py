"""Numbers that the command line shows without importing what measures."""

# The keys of plink.probing.tools.TOOLS, and what measures groups instead of pairs.
UPLINKS = "uplinks"
TOOL_NAMES = ("echo", "fping", "iperf3", UPLINKS)
# Probes per direction of a pair where the user does not say (docs/benchmarks.md, Probing).
DEFAULT_COUNTS = {"echo": 300, "fping": 30}
MAX_COUNT = 10_000

# Of a transfer with iperf3.
MAX_DURATION_S = 60
MAX_STREAMS = 32
DIRECTIONS = ("each", "both")
