#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "annealing/levels.hpp"
#include "annealing/placement.hpp"
#include "annealing/rounds_form.hpp"

namespace plink::annealing {

/// By round and edge, the level of the edge's distance.
using EdgeLevels = std::vector<std::vector<std::uint16_t>>;

/// The levels at a placement.
inline EdgeLevels edge_levels(const RoundsForm& form, const Levels& levels,
                              const Placement& placement) {
    EdgeLevels found(form.size());
    for (int round = 0; round < form.size(); ++round) {
        found[round].reserve(form.edges(round).size());
        for (const auto& [a, b] : form.edges(round)) {
            found[round].push_back(levels.row(placement.host(a))[placement.host(b)]);
        }
    }
    return found;
}

/// The highest of some levels. A compiler makes this fast, as it does not with max_element.
inline std::uint16_t highest(const std::vector<std::uint16_t>& levels) {
    std::uint16_t found = 0;
    for (const std::uint16_t level : levels) found = std::max(found, level);
    return found;
}

}  // namespace plink::annealing
