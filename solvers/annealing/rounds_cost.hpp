#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/levels.hpp"
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

    /// Throws `limits::TimeOver`.
    RoundsCost(ring::Matrix distance, RoundsForm form, limits::Watch& watch)
        : distance_(std::move(distance)),
          form_(std::move(form)),
          levels_(distance_, watch),
          share_(levels_.count()),
          sum_(form_.size()),
          summed_(form_.size()),
          added_(form_.size()),
          limit_(form_.size()) {
        for (int round = 0; round < form_.size(); ++round) {
            weight_.push_back(form_.weight(round));
        }
        const double mean = std::accumulate(weight_.begin(), weight_.end(), 0.0) / form_.size();
        for (double& weight : weight_) weight /= mean;
        is_even_ = std::all_of(weight_.begin(), weight_.end(), [](double w) { return w == 1.0; });
    }

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement) { edge_level_ = edge_levels(form_, levels_, placement); }

    void heat(const Heat& heat) {
        heat_ = heat;
        std::uint16_t worst = 0;
        for (const auto& levels : edge_level_) worst = std::max(worst, highest(levels));
        reference_ = levels_.value(worst);
        for (int level = 0; level < levels_.count(); ++level) {
            const double exponent = (levels_.value(level) - reference_) / heat_.softness;
            share_[level] = std::exp(static_cast<float>(std::min(exponent, kMostExponent)));
        }
        for (int round = 0; round < form_.size(); ++round) sum_up(round);
    }

    Edge worst_edge(const Placement&, ring::Random& random) const {
        const int round = random.below(form_.size());
        const auto [a, b] = form_.edges(round)[worst_among(edge_level_[round], random)];
        return {a, b};
    }

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        if (is_hopeless(swap, placement)) return;
        if (accepts(change(swap, placement))) apply(swap, placement);
    }

    /// Equal to its twin's but for the levels' width.
    double current() const {
        double cost = 0.0;
        for (int round = 0; round < form_.size(); ++round) {
            cost += form_.weight(round) * levels_.value(highest(edge_level_[round]));
        }
        return cost;
    }

    double exact(const std::vector<int>& order) const { return form_.cost(distance_, order); }

    static long moves_per_look(int ranks) { return std::min(kMostLook, kLookPerRank * ranks); }

  private:
    // A target is the worst of so many random edges of a round.
    static constexpr int kContenders = 8;

    // A swap that makes an edge so many softnesses and temperatures worse than its round's smoothed
    // maximum is not looked at further: hardly one of them would be accepted.
    static constexpr double kSoftnesses = 0.5;
    static constexpr double kTemperatures = 3.0;

    // A sum that fell so far has lost its digits.
    static constexpr double kFallen = 1e-4;
    static constexpr double kMostExponent = 60.0;
    static constexpr double kLeast = 1e-300;

    // Factors between two logarithms of their product, so that it neither over- nor underflows.
    static constexpr int kFactors = 8;
    static constexpr double kLeastFactor = 1e-9;

    /// The levels at a placement.
    static EdgeLevels edge_levels(const RoundsForm& form, const Levels& levels,
                                  const Placement& placement) {
        EdgeLevels found(form.size());
        for (int round = 0; round < form.size(); ++round) {
            found[round].reserve(form.edges(round).size());
            for (const auto& [a, b] : form.edges(round)) {
                found[round].push_back(levels.row(placement.host(a))[placement.host(b)]);
            }
        }
        return found;
    }

    /// The highest of some levels. A compiler makes this fast, as it does not with max_element.
    static std::uint16_t highest(const std::vector<std::uint16_t>& levels) {
        std::uint16_t found = 0;
        for (const std::uint16_t level : levels) found = std::max(found, level);
        return found;
    }

    static int worst_among(const std::vector<std::uint16_t>& levels, ring::Random& random) {
        const int edges = static_cast<int>(levels.size());
        int worst = random.below(edges);
        for (int i = 1; i < kContenders; ++i) {
            const int other = random.below(edges);
            if (levels[other] > levels[worst]) worst = other;
        }
        return worst;
    }

    static constexpr long kLookPerRank = 4;
    static constexpr long kMostLook = 2048;

    void sum_up(int round) {
        double sum = kLeast;
        for (const std::uint16_t level : edge_level_[round]) sum += share_[level];
        sum_[round] = summed_[round] = sum;
        limit(round);
    }

    void limit(int round) {
        const double smoothed = reference_ + heat_.softness * std::log(sum_[round]);
        const double slack =
            kSoftnesses * heat_.softness + kTemperatures * heat_.temperature / weight_[round];
        limit_[round] = levels_.below(smoothed + slack);
    }

    bool is_hopeless(Swap swap, const Placement& placement) const {
        const std::vector<int>& order = placement.order();
        for (int side = 0; side < 2; ++side) {
            const std::uint16_t* to_new = levels_.row(order[swap.b]);
            for (const auto* message = form_.begin(swap.a); message != form_.end(swap.a);
                 ++message) {
                if (message->partner == swap.b) continue;
                if (to_new[order[message->partner]] > limit_[message->round]) return true;
            }
            std::swap(swap.a, swap.b);
        }
        return false;
    }

    double change(Swap swap, const Placement& placement) {
        const std::vector<int>& order = placement.order();
        std::fill(added_.begin(), added_.end(), 0.0);
        for (int side = 0; side < 2; ++side) {
            const std::uint16_t* to_old = levels_.row(order[swap.a]);
            const std::uint16_t* to_new = levels_.row(order[swap.b]);
            for (const auto* message = form_.begin(swap.a); message != form_.end(swap.a);
                 ++message) {
                if (message->partner == swap.b) continue;
                const int host = order[message->partner];
                added_[message->round] += share_[to_new[host]] - share_[to_old[host]];
            }
            std::swap(swap.a, swap.b);
        }
        double logarithms = 0.0;
        double product = 1.0;
        for (int round = 0; round < form_.size(); ++round) {
            const double factor = std::max(1.0 + added_[round] / sum_[round], kLeastFactor);
            if (!is_even_) {
                logarithms += weight_[round] * std::log(factor);
                continue;
            }
            product *= factor;
            if (round % kFactors == kFactors - 1) {
                logarithms += std::log(product);
                product = 1.0;
            }
        }
        return heat_.softness * (logarithms + std::log(product));
    }

    void apply(Swap swap, Placement& placement) {
        placement.exchange(swap);
        const std::vector<int>& order = placement.order();
        for (const int rank : {swap.a, swap.b}) {
            const std::uint16_t* row = levels_.row(order[rank]);
            for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
                edge_level_[message->round][message->edge] = row[order[message->partner]];
            }
        }
        for (int round = 0; round < form_.size(); ++round) {
            if (added_[round] == 0.0) continue;
            sum_[round] += added_[round];
            if (sum_[round] < kFallen * summed_[round]) {
                sum_up(round);
            } else {
                summed_[round] = std::max(summed_[round], sum_[round]);
                limit(round);
            }
        }
    }

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

}  // namespace plink::annealing
