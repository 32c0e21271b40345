#pragma once

#include <cstdint>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/edge_levels.hpp"
#include "annealing/levels.hpp"
#include "annealing/placement.hpp"
#include "annealing/rounds_form.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of rounds itself, the sum over rounds of weight times the greatest distance, in levels
/// of distances. At least one round, no round without edges.
class HardRoundsCost {
  public:
    static constexpr int kTargets = 3;
    static constexpr int kNear = 1;

    /// In the unit of weight times distance, above 0.
    struct Heat {
        double temperature;
    };

    /// Throws `limits::TimeOver`.
    HardRoundsCost(ring::Matrix distance, RoundsForm form, limits::Watch& watch);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat& heat);

    /// The farthest pair of a round.
    Edge worst_edge(const Placement& placement, ring::Random& random) const;

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        if (is_hopeless(swap, placement)) return;
        const double change = changed(swap, placement);
        if (accepts(change)) apply(swap, placement, change);
    }

    /// Equal to its twin's but for the levels' width.
    double current() const { return cost_; }
    double exact(const std::vector<int>& order) const { return form_.cost(distance_, order); }

    static long moves_per_look(int) { return 16; }

  private:
    void limit(int round);
    bool is_hopeless(Swap swap, const Placement& placement) const;
    double changed(Swap swap, const Placement& placement);
    std::uint16_t worst_after(Swap swap, int round, const Placement& placement);
    void apply(Swap swap, Placement& placement, double change);

    ring::Matrix distance_;
    RoundsForm form_;
    Levels levels_;
    EdgeLevels edge_level_;
    std::vector<std::uint16_t> worst_;  // by round, the highest level
    std::vector<std::uint16_t> limit_;  // by round, the highest that is tried
    double temperature_ = 1.0;
    double cost_ = 0.0;

    // By round, of the swap in question: the highest level of the ranks' new edges, whether one of
    // the old ones is among the worst, and the highest level of all edges after it.
    std::vector<std::uint16_t> reached_, left_, after_;
};

extern template class Annealing<HardRoundsCost>;

}  // namespace plink::annealing
