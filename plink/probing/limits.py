"""Numbers that the command line shows without importing what measures."""

# The keys of plink.probing.tools.TOOLS.
TOOL_NAMES = ("echo", "dpdk", "fping", "trace")
# Probes per direction of a pair where the user does not say (docs/benchmarks.md, Probing).
DEFAULT_COUNTS = {"echo": 300, "dpdk": 300, "fping": 30, "trace": 3}
MAX_COUNT = 10_000
DEFAULT_MAX_HOPS = 30
DEFAULT_REMOTE_PYTHON = "python3"
