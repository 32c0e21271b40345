#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/levels.hpp"
#include "annealing/placement.hpp"
#include "annealing/rounds_form.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// By round and edge, the level of the edge's distance.
using EdgeLevels = std::vector<std::vector<std::uint16_t>>;

/// The cost of rounds as a smoothed maximum: sum over rounds of weight times
/// s log sum exp(distance / s), with a softness s that the caller lowers. At least one round, no
/// round without edges, weights above 0.
class RoundsCost {
  public:
    static constexpr int kTargets = 6;
    static constexpr int kNear = 3;

    /// Both in the distances' unit, above 0; the temperature is for a round of mean weight.
    struct Heat {
        double temperature, softness;
    };

    /// Throws `limits::TimeOver`.
    RoundsCost(ring::Matrix distance, RoundsForm form, limits::Watch& watch);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat& heat);
    Edge worst_edge(const Placement& placement, ring::Random& random) const;

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        if (is_hopeless(swap, placement)) return;
        if (accepts(change(swap, placement))) apply(swap, placement);
    }

    /// Equal to its twin's but for the levels' width.
    double current() const;
    double exact(const std::vector<int>& order) const { return form_.cost(distance_, order); }

    static long moves_per_look(int ranks) { return std::min(kMostLook, kLookPerRank * ranks); }

  private:
    static constexpr long kLookPerRank = 4;
    static constexpr long kMostLook = 2048;

    void sum_up(int round);
    void limit(int round);
    bool is_hopeless(Swap swap, const Placement& placement) const;
    double change(Swap swap, const Placement& placement);
    void apply(Swap swap, Placement& placement);

    ring::Matrix distance_;
    RoundsForm form_;
    Levels levels_;
    std::vector<double> weight_;  // of mean 1
    bool is_even_;
    EdgeLevels edge_level_;

    Heat heat_{1.0, 1.0};
    double reference_ = 0.0;
    std::vector<float> share_;    // by level, exp((distance - reference) / softness)
    std::vector<double> sum_;     // by round, of its edges' shares
    std::vector<double> summed_;  // by round, the greatest since it was summed up
    std::vector<double> added_;   // by round, what the swap in question adds
    std::vector<std::uint16_t> limit_;
};

extern template class Annealing<RoundsCost>;

}  // namespace plink::annealing
