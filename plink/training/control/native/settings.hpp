#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ranks.hpp"

namespace plink::control {

/// How ranks agree; the same on all of them.
struct Settings {
    std::uint64_t fusion_bytes;  ///< of a batch at most
    /// Of the root's patience for more that could be fused; in modes with cycles, of a cycle.
    double cycle_s;
    double stall_warning_s;                ///< after so long, and again, all ranks are told
    std::optional<double> stall_error_s;   ///< after so long what they wait for fails
    std::uint64_t check_every;             ///< messages of the root, ranks compare their tables
    std::uint64_t most_positions;          ///< of the table
    std::uint64_t cache = 1024;            ///< positions that the cache begins with
    std::uint64_t common_sleep_every = 0;  ///< cycles; 0 for never
    bool is_blocking = true;               ///< ranks await each other within a cycle
};

/// One rank's place in a tree over all ranks.
struct Place {
    std::int64_t rank;
    std::int64_t ranks;
    std::optional<std::int64_t> parent;  ///< none at the root
    /// Children, and all ranks below each, itself included.
    std::vector<std::pair<std::int64_t, Ranks>> children;
};

}  // namespace plink::control
