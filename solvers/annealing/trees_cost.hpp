#pragma once

#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/placement.hpp"
#include "annealing/tree.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of trees: the greatest sum of distances from a root to a leaf. At least one tree.
class TreesCost {
  public:
    static constexpr int kTargets = 8;
    static constexpr int kNear = 4;

    /// In the distances' unit, above 0.
    struct Heat {
        double temperature;
    };

    TreesCost(ring::Matrix distance, std::vector<Tree> trees);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat&) {}

    /// One of the critical path, from a parent to its child.
    Edge worst_edge(const Placement& placement, ring::Random& random);

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        const double before = current();
        apply(swap, placement);
        if (!accepts(current() - before)) undo(swap, placement);
    }

    double current() const;
    double exact(const std::vector<int>&) const { return current(); }

    static long moves_per_look(int) { return 1; }

  private:
    struct Height {
        int tree, rank;
        double before;
    };

    void apply(Swap swap, Placement& placement);
    void undo(Swap swap, Placement& placement);
    void update(int tree, Swap swap, const Placement& placement);
    bool refresh(int tree, int rank, const Placement& placement);

    ring::Matrix distance_;
    std::vector<Tree> trees_;
    std::vector<std::vector<double>> height_;  // by tree and rank
    std::vector<Height> journal_;              // of what the last swap changed
    std::vector<int> path_;
};

extern template class Annealing<TreesCost>;

}  // namespace plink::annealing
