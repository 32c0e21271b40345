#pragma once

#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::orders {

enum class Linkage { kAverage, kSingle };

/// Two clusters that are joined: a leaf of each, and how far apart they are.
struct Merge {
    int one, other;
    double height;
};

/// A tree of clusters.
struct Dendrogram {
    std::vector<int> leaves;    // as the branches are joined
    std::vector<Merge> merges;  // as they are found, which is not by height
};

/// By chains of nearest neighbours (Murtagh 1983). Throws `limits::TimeOver`.
Dendrogram dendrogram(const ring::Matrix& distance, Linkage linkage, limits::Watch& watch);

}  // namespace plink::orders
