#pragma once

#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::bounds {

/// By host, how long the shortest path is to the `count`-th nearest host, itself being the first
/// (Dijkstra 1959, in all pairs of hosts).
std::vector<double> eccentricities(const ring::Matrix& distance, int count, limits::Watch& watch);

}  // namespace plink::bounds
