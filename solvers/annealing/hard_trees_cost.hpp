#pragma once

#include <utility>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/placement.hpp"
#include "annealing/tree.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of trees itself, the greatest sum of distances from a root to a leaf. At least one
/// tree.
class HardTreesCost {
  public:
    static constexpr int kTargets = 3;
    static constexpr int kNear = 1;

    /// In the distances' unit, above 0.
    struct Heat {
        double temperature;
    };

    HardTreesCost(ring::Matrix distance, std::vector<Tree> trees);

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement);
    void heat(const Heat&) {}

    /// One of a longest path, from a parent to its child.
    Edge worst_edge(const Placement& placement, ring::Random& random) const;

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        placement.exchange(swap);
        follow(swap);
        const double after = greatest();
        if (accepts(after - cost_)) {
            cost_ = after;
            return;
        }
        placement.exchange(swap);
        for (auto one = before_.rbegin(); one != before_.rend(); ++one) {
            heights_[one->tree][one->rank] = one->height;
        }
    }

    double current() const { return cost_; }
    double exact(const std::vector<int>& order) const;

    static long moves_per_look(int) { return 16; }

  private:
    struct Height {
        int tree, rank;
        double height;
    };

    double greatest() const;
    void follow(Swap swap);
    bool renew(int tree, int rank);

    ring::Matrix distance_;
    std::vector<Tree> trees_;
    const std::vector<int>* order_ = nullptr;
    std::vector<std::vector<double>> heights_;  // by tree and rank
    double cost_ = 0.0;
    std::vector<Height> before_;  // what the last swap changed, one after the other
    mutable std::vector<double> exact_;
};

extern template class Annealing<HardTreesCost>;

}  // namespace plink::annealing
