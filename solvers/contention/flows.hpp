#pragma once

#include <vector>

namespace plink::contention {

/// Messages of a collective, by rounds, on links (`plink.solvers.contention.flows`).
struct Messages {
    int ranks = 0;
    /// Of each message: its round (ascending), its ends, bytes, how long it takes to begin, and the
    /// message that it waits for (-1 for none).
    std::vector<int> rounds;
    std::vector<int> senders;
    std::vector<int> receivers;
    std::vector<double> sizes_bytes;
    std::vector<double> delays_s;
    std::vector<int> after;
    /// The links that message m crosses are path_links[path_starts[m]] to path_starts[m + 1].
    std::vector<int> path_starts;
    std::vector<int> path_links;
};

/// What links carry in bytes/s, and what each lets pass at once after a pause.
struct FlowLinks {
    std::vector<double> rates;
    std::vector<double> bursts;
    /// What a link with something in its bucket carries.
    double peak_bytes_s = 0.0;
    /// A bucket with less than this share is empty.
    double empty_share = 0.0;
};

/// When each rank has the core that it shares with others: `slice_s` every `cycle_s`, first at
/// `begins_s`, and messages begin whether the receiver is there or not. Without a cycle, always.
struct Turns {
    double cycle_s = 0.0;
    double slice_s = 0.0;
    std::vector<double> begins_s;
};

/// Seconds until all messages have arrived; ranks go on as soon as their own have, in their turn.
double flow_time_s(const Messages& messages, const FlowLinks& links, const Turns& turns,
                   double reduction_s_byte);

}  // namespace plink::contention
