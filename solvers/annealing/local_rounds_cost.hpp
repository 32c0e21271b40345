#pragma once

#include <algorithm>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/placement.hpp"
#include "annealing/rounds_form.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of many rounds of which each rank is in few, such as those of a mesh's groups: what a
/// swap changes is looked up in these alone. At least one round, no round without edges.
///
/// Ranks that exchange so much that none of them leaves the others are blocks: now and then whole
/// blocks change places instead of the two ranks.
class LocalRoundsCost {
  public:
    static constexpr int kTargets = 5;
    static constexpr int kNear = 5;

    /// Ranks in blocks of the same size, which share none.
    using Blocks = std::vector<std::vector<int>>;

    /// In the unit of weight times distance, above 0.
    struct Heat {
        double temperature;
    };

    LocalRoundsCost(ring::Matrix distance, RoundsForm form, std::vector<Blocks> levels);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat&) {}

    /// The farthest pair of the dearest of some rounds.
    Edge worst_edge(const Placement& placement, ring::Random& random) const;

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        choose(swap);
        exchange(placement);
        if (accepts(change(placement))) {
            apply();
        } else {
            exchange(placement);
        }
    }

    double current() const { return cost_; }
    double exact(const std::vector<int>& order) const { return form_.cost(distance_, order); }

    static long moves_per_look(int ranks) { return std::min(kMostLook, kLookPerRank * ranks); }

  private:
    static constexpr long kLookPerRank = 4;
    static constexpr long kMostLook = 2048;
    // One move in so many is of blocks, where there are any.
    static constexpr long kBlocksTurn = 12;
    static constexpr int kLookedAt = 4;

    void choose(Swap swap);
    void exchange(Placement& placement) const;
    double change(const Placement& placement);
    void apply();
    double greatest(int round, const Placement& placement) const;

    ring::Matrix distance_;
    RoundsForm form_;
    std::vector<Blocks> levels_;
    std::vector<std::vector<int>> block_of_;  // by level and rank; -1 for none

    double cost_ = 0.0;
    std::vector<double> greatest_;  // by round

    long moves_ = 0;
    std::vector<Swap> swaps_;       // of the move in question
    std::vector<int> touched_;      // rounds that it touches
    std::vector<double> would_be_;  // their greatest distances after it
    std::vector<long> touched_at_;  // by round, the last move that touched it
    double change_ = 0.0;
};

extern template class Annealing<LocalRoundsCost>;

}  // namespace plink::annealing
