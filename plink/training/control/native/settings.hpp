#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ranks.hpp"

namespace plink::control {

/// How ranks agree; the same on all of them.
struct Settings {
    std::uint64_t fusion_bytes;           ///< of a batch at most
    double cycle_s;                       ///< of the root's patience for more that could be fused
    double stall_warning_s;               ///< after so long, and again, all ranks are told
    std::optional<double> stall_error_s;  ///< after so long what they wait for fails
    std::uint64_t check_every;            ///< messages of the root, ranks compare their tables
    std::uint64_t most_positions;         ///< of the table
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
