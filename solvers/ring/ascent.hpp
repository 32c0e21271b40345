#pragma once

#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/one_tree.hpp"

namespace plink::ring {

/// Subgradient ascent on the penalties (Held, Wolfe, Crowder 1974), in slices: among few pairs, to
/// which those are added that a 1-tree among all pairs turns out to have.
class Ascent {
  public:
    /// `upper` is the cost of a ring that is known.
    Ascent(Matrix distance, double upper);

    /// At most `iterations` more, and none that the time does not suffice for; returns whether
    /// there is nothing more to do.
    bool run(int iterations, limits::Watch& watch);

    double bound() const { return bound_; }
    /// Those that the bound is proven with.

    /// By city, the `by_alpha` cities of least alpha-nearness (Helsgaun 2000, §4.1: by how much
    /// the 1-tree grows when it must hold the edge) and the `by_distance` nearest, nearest first;
    /// always the parent in the 1-tree, so that no cluster is cut off from the others. Cities for
    /// which the time does not suffice have none.
    std::vector<std::vector<int>> candidates(int by_alpha, int by_distance,
                                             limits::Watch& watch) const;

  private:
    void begin(limits::Watch& watch);
    void prove(limits::Watch& watch);
    void step(const OneTree& tree);

    Matrix distance_;
    Graph graph_;
    double upper_;
    double bound_ = 0.0;
    double best_length_ = 0.0;  // among the pairs of the graph
    double scale_;
    int stale_ = 0;
    bool is_begun_ = false;
    bool is_done_ = false;
    std::vector<double> penalty_;
    std::vector<double> best_;
    std::vector<double> proven_;
    std::vector<int> previous_;
};

}  // namespace plink::ring
