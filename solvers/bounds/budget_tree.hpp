#pragma once

#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::bounds {

/// The cheapest trees that may use a host more than once or never and pay its price for each use,
/// where no way from the root to a leaf is longer than a limit, and where ranks that are joined
/// within a group of hosts are no more than the group has hosts.
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

    /// By host: the price of a leaf, and of a rank that has children; and the price of a mean way
    /// from the root to the leaves that is as long as the limit.
    struct Prices {
        std::vector<float> leaf, inner;
        double way;
    };
    struct Uses {
        std::vector<int> leaf, inner;
        double way;
    };

    /// `shares`: by shape, what its leaves have of the weight of all leaves in the mean way.
    /// `group`: by host, 0 to fewer than there are hosts. `limit` above 0, `cells` at least 1.
    BudgetTree(const ring::Matrix& distance, Shapes shapes, std::vector<double> shares,
               const std::vector<int>& group, double limit, int cells);

    int hosts() const { return hosts_; }
    int ranks() const { return ranks_.back(); }
    /// Whether all sums of such prices are exact.
    bool is_exact(const Prices& prices) const;

    /// By host as the root: what the cheapest tree pays, infinite if none keeps the limit.
    std::vector<float> cheapest(const Prices& prices, limits::Watch& watch);

    /// How often each host is used by the tree that was found for a root, of a finite cost.
    Uses uses(int root) const;

  private:
    /// The cheapest places of a child, by how many ranks of the parent's group it may be joined
    /// with, itself included: 0 where it is in another group.
    struct Places {
        std::vector<float> least, second, host;
    };
    struct Child {
        int shape, host, left, joined;
    };
    /// What some children pay, and which they are.
    struct Children {
        float paid;
        std::vector<Child> children;
    };

    const float* row(int shape, int host, int joined) const;
    float* row(int shape, int host, int joined);
    std::size_t start(int shape, int host, int joined) const;
    /// What the way from a child to its parent costs.
    float toll(int child, int from, int to) const;
    int steps(int from, int to) const {
        return steps_[static_cast<std::size_t>(from) * hosts_ + to];
    }
    /// Ranks of one group that are joined in a subtree whose root is on the host, at most.
    int most_joined(int shape, int host) const;

    void find_places(int child, int host, int from);
    void find_sums(int child, int count, int host, int from);
    void find_sums_of_many(int child, int count, int host, int from);
    void add_sums(int shape, int child, int count, int host, int from);

    Children cheapest_of_few(int child, int count, const Child& parent, int joined) const;
    Children cheapest_of_many(int child, int count, const Child& parent) const;
    std::vector<Child> children_of(const Child& parent) const;

    int hosts_, cells_, width_;
    ring::Matrix distance_;
    double limit_;
    Shapes shapes_;
    std::vector<double> shares_;            // by shape
    double toll_ = 0.0;                     // of a unit of the mean way
    std::vector<int> depth_;                // by shape: edges from its root down, at most
    std::vector<int> ranks_;                // by shape
    std::vector<int> steps_;                // by pair of hosts: cells between, at most one too many
    std::vector<std::vector<int>> inside_;  // by host: the others of its group
    std::vector<std::vector<int>> outside_;
    std::vector<std::size_t> block_;  // by host: where its values begin, of all of a shape
    std::vector<float> values_;       // by shape, host, most that are joined, and cells left
    std::vector<int> first_;          // by shape and host: the fewest cells that suffice
    Places places_;
    std::vector<float> sums_;  // of a node's equal children, by how many they are joined with
};

}  // namespace plink::bounds
