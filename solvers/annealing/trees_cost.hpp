#pragma once

#include <cmath>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/levels.hpp"
#include "annealing/placement.hpp"
#include "annealing/tree.hpp"
#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of trees, the greatest sum of distances from a root to a leaf, as a smoothed maximum:
/// s log sum exp(length / s) over all paths of all trees, with a softness s that the caller lowers.
/// At least one tree.
class TreesCost {
  public:
    static constexpr int kTargets = 8;
    static constexpr int kNear = 4;

    /// Both in the distances' unit, above 0.
    struct Heat {
        double temperature, softness;
    };

    /// Throws `limits::TimeOver`.
    TreesCost(ring::Matrix distance, std::vector<Tree> trees, limits::Watch& watch);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat& heat);

    /// One of a long path, from a parent to its child: the longer, the likelier.
    Edge worst_edge(const Placement& placement, ring::Random& random) const;

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        const double after = sum_after(swap);
        if (after > kLeastShare * sum_) {
            if (accepts(change_to(after))) {
                placement.exchange(swap);
                update(swap);
            }
            return;
        }
        // The digits do not suffice.
        const double before = sum_;
        placement.exchange(swap);
        update(swap);
        if (accepts(heat_.softness * std::log(sum_ / before))) return;
        placement.exchange(swap);
        update(swap);
    }

    /// By the greatest sum itself.
    double current() const { return exact(*order_); }
    double exact(const std::vector<int>& order) const;

    /// Few ranks leave time to look at every order.
    static long moves_per_look(int ranks) { return ranks <= kFew ? 1 : kLookPerRank * ranks; }

  private:
    static constexpr int kFew = 32;
    static constexpr long kLookPerRank = 4;

    // A sum that would fall below this share is not told from what it loses.
    static constexpr double kLeastShare = 1e-4;

    double change_to(double sum) const { return heat_.softness * std::log(sum / sum_); }
    double share(int a, int b) const { return share_[levels_.row(a)[b]]; }
    void sum_up();
    void sum_down(int tree, int rank);
    double sum_after(Swap swap) const;
    double gain(int tree, int rank, int host, double down) const;
    double gain_in_line(int tree, int low, int high) const;
    double summed(int tree, int rank, int host) const;
    void update(Swap swap);

    ring::Matrix distance_;
    std::vector<Tree> trees_;
    Levels levels_;
    const std::vector<int>* order_ = nullptr;

    Heat heat_{1.0, 1.0};
    std::vector<double> share_;              // by level, exp(distance / softness)
    std::vector<std::vector<double>> down_;  // by tree and rank, of its paths down to leaves
    std::vector<std::vector<double>> up_;    // by tree and rank, of the path from the root
    double sum_ = 1.0;                       // of all trees
    mutable std::vector<double> heights_;
};

extern template class Annealing<TreesCost>;

}  // namespace plink::annealing
