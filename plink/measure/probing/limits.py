"""Upper limits that options of probing may have."""

MAX_COUNT = 10_000
MAX_PASSES = 100

# Transfers with iperf3.
MAX_DURATION_S = 60
MAX_STREAMS = 32
DIRECTIONS = ("each", "both")

# Rounds of the tournament that "all of them" is a number for, and that notes give as an example.
ALL_ROUNDS = 1 << 32
# In place of a number of rounds: pairs are chosen by what the readings show.
FOLLOWED_ROUNDS = 0
EXAMPLE_ROUNDS = 32

# How often a pair meets when a file is checked.
CHECK_PASSES = 2
# Partners of a host that a check measures again. With 4 near and 4 other ones every host that was
# moved was found, and every rack whose uplink changed as one group (tests/drift).
CHECK_PARTNERS = 8
# Seconds that the transfers of a check may take, and how many hosts and groups they are of: those
# that limit jobs most.
CHECK_TRANSFERS_S = 60.0
CHECK_LINKS = 64
CHECK_UPLINKS = 16
