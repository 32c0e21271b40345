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

/// Subgradient ascent on the penalties (Held, Wolfe, Crowder 1974), in slices.
class Ascent {
  public:
    /// `upper` is the cost of a ring that is known.
    Ascent(Matrix distance, double upper);

    /// At most `iterations` more, and none that the time does not suffice for; returns whether
    /// there is nothing more to do.
    bool run(int iterations, limits::Watch& watch);

    double bound() const { return bound_; }
    const std::vector<double>& penalty() const { return best_; }

    /// By city, the `by_alpha` cities of least alpha-nearness (Helsgaun 2000, §4.1: by how much
    /// the 1-tree grows when it must hold the edge) and the `by_distance` nearest, nearest first;
    /// always the parent in the 1-tree, so that no cluster is cut off from the others. Cities for
    /// which the time does not suffice have none.
    std::vector<std::vector<int>> candidates(int by_alpha, int by_distance,
                                             limits::Watch& watch) const;

  private:
    void step(const OneTree& tree);

    Matrix distance_;
    double upper_;
    double bound_ = 0.0;
    double scale_;
    int stale_ = 0;
    bool done_ = false;
    std::vector<double> penalty_;
    std::vector<double> best_;
    std::vector<int> previous_;
};

}  // namespace plink::ring
