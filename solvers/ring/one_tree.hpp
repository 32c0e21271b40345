#pragma once

#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::ring {

/// A minimum 1-tree (Held and Karp 1970): a minimum spanning tree of the cities 1 ... N-1 and the
/// two shortest edges of city 0, under weights d(i, j) + penalty(i) + penalty(j).
struct OneTree {
    double length = 0.0;         ///< less twice the sum of penalties: at most any ring's cost
    std::vector<int> order;      ///< cities 1 ... N-1 as the tree grew: parents before children
    std::vector<int> parent;     ///< in the tree, by city; -1 for the root and for city 0
    std::vector<double> weight;  ///< of the edge to the parent, by city
    std::vector<int> degree;     ///< by city
    int nearest = -1;            ///< city 0's two ends
    int second = -1;
};

/// For at least 3 cities. Rounding is subtracted, so that `length` is a bound also in floating
/// point. Throws `limits::TimeOver`.
OneTree minimum_one_tree(const Matrix& distance, const std::vector<double>& penalty,
                         limits::Watch& watch);

/// Some of the pairs of cities, by city: enough to join all of 1 ... N-1, and two for city 0.
class Graph {
  public:
    struct Edge {
        int city;
        double distance;
    };

    explicit Graph(int size) : edges_(size) {}

    const std::vector<Edge>& at(int city) const { return edges_[city]; }
    /// Returns whether the pair was not yet among them.
    bool add(const Matrix& distance, int one, int other);
    /// Adds what a 1-tree has; returns whether any of it was not yet among them.
    bool add(const Matrix& distance, const OneTree& tree);

  private:
    std::vector<std::vector<Edge>> edges_;
};

/// A minimum 1-tree among the pairs of a graph: no shorter than that among all pairs, so no bound.
OneTree minimum_one_tree(const Graph& graph, const std::vector<double>& penalty);

}  // namespace plink::ring
