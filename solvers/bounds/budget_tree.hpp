#pragma once

#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::bounds {

/// The cheapest trees that may use a host more than once or never and pay its price for each use,
/// where no way from the root to a leaf is longer than a limit.
///
/// Lengths are whole numbers of cells, rounded down, so that no tree is left out that keeps the
/// limit. Prices are whole numbers, small enough for all sums to be exact.
class BudgetTree {
  public:
    /// By subtree, each after those of its children, the whole tree last: its root's children, as
    /// the place of a subtree and how many of them there are.
    using Shapes = std::vector<std::vector<std::pair<int, int>>>;

    /// Sums of whole numbers are exact up to this one.
    static constexpr float kMostPaid = 1 << 24;

    /// `limit` above 0, `cells` at least 1.
    BudgetTree(const ring::Matrix& distance, Shapes shapes, double limit, int cells);

    int hosts() const { return hosts_; }
    int ranks() const { return ranks_.back(); }

    /// By host as the root: what the cheapest tree pays, infinite if none keeps the limit.
    std::vector<float> cheapest(const std::vector<float>& prices, limits::Watch& watch);

    /// How often each host is used by the tree that was found for a root, of a finite cost.
    std::vector<int> uses(int root) const;

  private:
    float* row(int shape, int host) { return values_.data() + place(shape, host); }
    const float* row(int shape, int host) const { return values_.data() + place(shape, host); }
    std::size_t place(int shape, int host) const {
        return (static_cast<std::size_t>(shape) * hosts_ + host) * (cells_ + 1);
    }
    int steps(int from, int to) const {
        return steps_[static_cast<std::size_t>(from) * hosts_ + to];
    }

    void add_one(int child, int host, int from, float* paid);
    void add_two(int child, int host, int from, float* paid);
    void add_many(int child, int count, int host, int from, float* paid) const;

    int hosts_, cells_;
    Shapes shapes_;
    std::vector<int> ranks_;     // by shape
    std::vector<int> steps_;     // by pair of hosts: cells between them, at most one more than all
    std::vector<float> values_;  // by shape, host and cells that are left
    std::vector<int> first_;     // by shape and host: the fewest cells that suffice
    std::vector<float> least_, second_;
};

}  // namespace plink::bounds
