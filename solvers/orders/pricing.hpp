#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "annealing/tree.hpp"
#include "ring/matrix.hpp"

namespace plink::orders {

using ring::Matrix;

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
        int a, b;
    };

    int ranks() const { return ranks_; }

    void add(std::vector<Edge> edges, double weight) {
        for (const Edge edge : edges) ranks_ = std::max({ranks_, edge.a + 1, edge.b + 1});
        rounds_.push_back({std::move(edges), weight});
    }

    double operator()(const Matrix& distance, const std::vector<int>& host_of) const {
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

/// Over all trees, the greatest sum of distances from the root to a leaf.
class TreesPrice {
  public:
    void add(const std::vector<int>& parents) {
        ranks_ = std::max(ranks_, static_cast<int>(parents.size()));
        trees_.emplace_back(parents);
    }

    int ranks() const { return ranks_; }
    double operator()(const Matrix& distance, const std::vector<int>& host_of) {
        return annealing::longest_path(trees_, distance, host_of, heights_);
    }

  private:
    std::vector<annealing::Tree> trees_;
    int ranks_ = 0;
    std::vector<double> heights_;
};

}  // namespace plink::orders
