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
///
/// Ranks that exchange so much that none of them leaves the others are blocks: now and then whole
/// blocks change places instead of the two ranks.
class LocalRoundsCost {
  public:
    static constexpr int kTargets = 5;
    static constexpr int kNear = 5;

    /// Ranks in blocks of the same size, which share none.
    using Blocks = std::vector<std::vector<int>>;

    LocalRoundsCost(ring::Matrix distance, RoundsForm form, std::vector<Blocks> levels)
        : distance_(std::move(distance)),
          form_(std::move(form)),
          levels_(std::move(levels)),
          greatest_(form_.size()),
          touched_at_(form_.size(), 0) {
        for (const Blocks& blocks : levels_) {
            std::vector<int>& block_of = block_of_.emplace_back(form_.ranks(), -1);
            for (std::size_t block = 0; block < blocks.size(); ++block) {
                for (const int rank : blocks[block]) block_of[rank] = static_cast<int>(block);
            }
        }
    }

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

    void choose(Swap swap) {
        ++moves_;
        swaps_.assign(1, swap);
        if (levels_.empty() || moves_ % kBlocksTurn != 0) return;
        const std::size_t level = moves_ / kBlocksTurn % levels_.size();
        const int one = block_of_[level][swap.a];
        const int other = block_of_[level][swap.b];
        if (one < 0 || other < 0 || one == other) return;
        swaps_.clear();
        const std::vector<int>& left = levels_[level][one];
        const std::vector<int>& right = levels_[level][other];
        for (std::size_t place = 0; place < left.size(); ++place) {
            swaps_.push_back({left[place], right[place]});
        }
    }

    void exchange(Placement& placement) const {
        for (const Swap& swap : swaps_) placement.exchange(swap);
    }

    double change(const Placement& placement) {
        touched_.clear();
        would_be_.clear();
        change_ = 0.0;
        for (const Swap& swap : swaps_) {
            for (const int rank : {swap.a, swap.b}) {
                for (const auto* message = form_.begin(rank); message != form_.end(rank);
                     ++message) {
                    const int round = message->round;
                    if (touched_at_[round] == moves_) continue;
                    touched_at_[round] = moves_;
                    const double now = greatest(round, placement);
                    touched_.push_back(round);
                    would_be_.push_back(now);
                    change_ += form_.weight(round) * (now - greatest_[round]);
                }
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

}  // namespace plink::annealing
