#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/rounds_form.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of many rounds of which each rank is in few, such as those of a mesh's groups: what a
/// swap changes is looked up in these alone. At least one round, no round without edges.
class LocalRoundsCost {
  public:
    static constexpr int kTargets = 5;
    static constexpr int kNear = 5;

    LocalRoundsCost(ring::Matrix distance, RoundsForm form, limits::Watch&)
        : distance_(std::move(distance)),
          form_(std::move(form)),
          greatest_(form_.size()),
          touched_at_(form_.size(), 0) {}

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement) {
        cost_ = 0.0;
        for (int round = 0; round < form_.size(); ++round) {
            greatest_[round] = greatest(round, placement);
            cost_ += form_.weight(round) * greatest_[round];
        }
    }

    void heat(const Heat&) {}

    /// The farthest pair of the dearest of some rounds.
    Edge worst_edge(const Placement& placement, ring::Random& random) const {
        int worst = random.below(form_.size());
        for (int looked_at = 1; looked_at < kLookedAt; ++looked_at) {
            const int other = random.below(form_.size());
            const double cost = form_.weight(other) * greatest_[other];
            if (cost > form_.weight(worst) * greatest_[worst]) worst = other;
        }
        const RoundsForm::Edges& edges = form_.edges(worst);
        const auto [a, b] =
            *std::max_element(edges.begin(), edges.end(), [&](const auto& one, const auto& other) {
                return distance_(placement.host(one.first), placement.host(one.second)) <
                       distance_(placement.host(other.first), placement.host(other.second));
            });
        return {a, b};
    }

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        placement.exchange(swap);
        if (accepts(change(swap, placement))) {
            apply();
        } else {
            placement.exchange(swap);
        }
    }

    double current() const { return cost_; }
    double exact(const std::vector<int>& order) const { return form_.cost(distance_, order); }

    static long moves_per_look(int ranks) { return std::min(kMostLook, kLookPerRank * ranks); }

  private:
    static constexpr long kLookPerRank = 4;
    static constexpr long kMostLook = 2048;
    static constexpr int kLookedAt = 4;

    double change(Swap swap, const Placement& placement) {
        ++moves_;
        touched_.clear();
        would_be_.clear();
        change_ = 0.0;
        for (const int rank : {swap.a, swap.b}) {
            for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
                const int round = message->round;
                if (touched_at_[round] == moves_) continue;
                touched_at_[round] = moves_;
                const double now = greatest(round, placement);
                touched_.push_back(round);
                would_be_.push_back(now);
                change_ += form_.weight(round) * (now - greatest_[round]);
            }
        }
        return change_;
    }

    void apply() {
        for (std::size_t place = 0; place < touched_.size(); ++place) {
            greatest_[touched_[place]] = would_be_[place];
        }
        cost_ += change_;
    }

    double greatest(int round, const Placement& placement) const {
        double found = 0.0;
        for (const auto& [a, b] : form_.edges(round)) {
            found = std::max(found, distance_(placement.host(a), placement.host(b)));
        }
        return found;
    }

    ring::Matrix distance_;
    RoundsForm form_;

    double cost_ = 0.0;
    std::vector<double> greatest_;  // by round

    long moves_ = 0;
    std::vector<int> touched_;      // rounds that the move in question touches
    std::vector<double> would_be_;  // their greatest distances after it
    std::vector<long> touched_at_;  // by round, the last move that touched it
    double change_ = 0.0;
};

}  // namespace plink::annealing
