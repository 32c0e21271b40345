"""Numbers that the command line shows without importing what measures."""

# The keys of plink.measure.probing.tools.TOOLS, and what measures groups instead of pairs.
UPLINKS = "uplinks"
DEFAULT_TOOL = "echo"
TOOL_NAMES = ("echo", "dpdk", "fping", "trace", "iperf3", UPLINKS)
# Probes per direction of a pair, each time it meets, where the user does not say
# (docs/benchmarks/probing.md).
DEFAULT_COUNTS = {"echo": 100, "dpdk": 100, "fping": 10, "trace": 3}
# How often a pair meets at most; those of the other tools meet once.
DEFAULT_PASSES = {"echo": 5, "dpdk": 5, "fping": 2}
MAX_PASSES = 100
# Pairs whose passes disagree by no more meet twice.
DEFAULT_PRECISION_PERCENT = 2.0
MAX_COUNT = 10_000
DEFAULT_MAX_HOPS = 30
DEFAULT_REMOTE_PYTHON = "python3"

# Of a transfer with iperf3.
MAX_DURATION_S = 60
MAX_STREAMS = 32
DIRECTIONS = ("each", "both")

# Rounds of the tournament that "all of them" is a number for, and that notes give as an example.
ALL_ROUNDS = 1 << 32
# In place of a number of rounds: pairs are chosen by what the readings show.
FOLLOWED_ROUNDS = 0
EXAMPLE_ROUNDS = 32

# How often a pair meets for --check.
CHECK_PASSES = 2
# Partners of a host that --check measures again. With 4 near and 4 other ones every host that was
# moved was found, and every rack whose uplink changed as one group (tests/drift).
CHECK_PARTNERS = 8
