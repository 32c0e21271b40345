#pragma once

#include <cstdint>
#include <vector>

#include "forest.hpp"

namespace plink::engine {

/// Routes made from a forest's, for buffers whose segments have roots of their own.
struct Rooted {
    Forest forest;
    std::vector<std::vector<std::uint32_t>> routes;  ///< by segment, those that carry it
};

/// The forest itself, for one segment.
Rooted as_planned(const Forest& forest);

/// A segment for each rank, carried by the routes that have that root. Where there is none, the
/// heaviest routes are turned round to it.
Rooted rooted_at_each(const Forest& forest);

/// One segment, carried as that of `root` would be.
Rooted rooted_at(const Forest& forest, int root);

/// One segment, carried by all routes, each turned round to `root`: where every rank has a route
/// of its own this is a scatter and an all-gather at once (van de Geijn).
Rooted spread_from(const Forest& forest, int root);

}  // namespace plink::engine
