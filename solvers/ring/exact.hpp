#pragma once

#include <vector>

#include "ring/matrix.hpp"

namespace plink::ring {

/// More cities than this would take too much memory and time.
constexpr int kMostExactCities = 12;

/// A cheapest ring by dynamic programming over subsets (Held and Karp 1962).
std::vector<int> cheapest_ring(const Matrix& distance);

}  // namespace plink::ring
