#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::orders {

using ring::Matrix;

/// More ranks than that have no form.
constexpr std::int64_t kMostRanks = 1 << 30;

/// The sum of hops from each host to the next, and from the last to the first.
inline double ring_price(const Matrix& distance, const int* hosts, int count) {
    double sum = count > 0 ? distance(hosts[count - 1], hosts[0]) : 0.0;
    for (int i = 1; i < count; ++i) sum += distance(hosts[i - 1], hosts[i]);
    return sum;
}

/// The sum over rounds of weight times the greatest distance (Luo 2020, §5.2.1).
class RoundsPrice {
  public:
    struct Edge {
        std::int32_t a, b;
    };

    int ranks() const { return ranks_; }

    void add(std::vector<Edge> edges, double weight) {
        for (const Edge edge : edges) ranks_ = std::max({ranks_, edge.a + 1, edge.b + 1});
        rounds_.push_back({std::move(edges), weight});
    }

    double operator()(const Matrix& distance, const int* host_of) const {
        double sum = 0.0;
        for (const Round& round : rounds_) {
            double greatest = 0.0;
            for (const Edge edge : round.edges) {
                greatest = std::max(greatest, distance(host_of[edge.a], host_of[edge.b]));
            }
            sum += round.weight * greatest;
        }
        return sum;
    }

  private:
    struct Round {
        std::vector<Edge> edges;
        double weight;
    };

    std::vector<Round> rounds_;
    int ranks_ = 0;
};

/// Over all trees, the greatest sum of distances from the root to a leaf (Luo 2020, §5.2.1).
class TreesPrice {
  public:
    int ranks() const { return ranks_; }

    /// By rank, its parent: -1 for the root, -2 outside of the tree. Returns whether all others are
    /// below the root.
    bool add(const std::vector<std::int32_t>& parents) {
        std::vector<std::int32_t> first(parents.size() + 1, 0);
        std::size_t members = 0;
        for (const std::int32_t parent : parents) {
            if (parent >= 0) ++first[parent + 1];
            if (parent >= -1) ++members;
        }
        for (std::size_t rank = 0; rank < parents.size(); ++rank) first[rank + 1] += first[rank];
        std::vector<std::int32_t> children(first.back());
        std::vector<std::int32_t> next(first);
        Tree tree;
        for (std::size_t rank = 0; rank < parents.size(); ++rank) {
            const auto child = static_cast<std::int32_t>(rank);
            if (parents[rank] >= 0) children[next[parents[rank]]++] = child;
            if (parents[rank] == -1) tree.root = child;
        }
        if (tree.root < 0) return false;
        std::vector<std::int32_t> reached{tree.root};
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (std::int32_t c = first[reached[i]]; c < first[reached[i] + 1]; ++c) {
                tree.edges.push_back({reached[i], children[c]});
                reached.push_back(children[c]);
            }
        }
        ranks_ = std::max(ranks_, static_cast<int>(parents.size()));
        trees_.push_back(std::move(tree));
        return reached.size() == members;
    }

    double operator()(const Matrix& distance, const int* host_of) {
        above_.resize(ranks_);
        double greatest = 0.0;
        for (const Tree& tree : trees_) {
            above_[tree.root] = 0.0;
            for (const Edge edge : tree.edges) {
                const double sum =
                    above_[edge.parent] + distance(host_of[edge.parent], host_of[edge.child]);
                above_[edge.child] = sum;
                greatest = std::max(greatest, sum);
            }
        }
        return greatest;
    }

  private:
    struct Edge {
        std::int32_t parent, child;
    };
    struct Tree {
        std::int32_t root = -1;
        std::vector<Edge> edges;  // from the root down
    };

    std::vector<Tree> trees_;
    int ranks_ = 0;
    std::vector<double> above_;  // by rank, the sum from the root
};

}  // namespace plink::orders
