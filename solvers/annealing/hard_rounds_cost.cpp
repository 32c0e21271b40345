#include "annealing/hard_rounds_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plink::annealing {

namespace {

// A swap that makes a round so many temperatures dearer is not looked at further: hardly one of
// them would be accepted.
constexpr double kTemperatures = 4.0;

}  // namespace

template class Annealing<HardRoundsCost>;

HardRoundsCost::HardRoundsCost(ring::Matrix distance, RoundsForm form, limits::Watch& watch)
    : distance_(std::move(distance)),
      form_(std::move(form)),
      levels_(distance_, watch),
      worst_(form_.size()),
      limit_(form_.size()),
      reached_(form_.size()),
      left_(form_.size()),
      after_(form_.size()) {}

void HardRoundsCost::place(const Placement& placement) {
    edge_level_ = edge_levels(form_, levels_, placement);
    cost_ = 0.0;
    for (int round = 0; round < form_.size(); ++round) {
        worst_[round] = highest(edge_level_[round]);
        cost_ += form_.weight(round) * levels_.value(worst_[round]);
    }
}

void HardRoundsCost::heat(const Heat& heat) {
    temperature_ = heat.temperature;
    for (int round = 0; round < form_.size(); ++round) limit(round);
}

void HardRoundsCost::limit(int round) {
    const double slack = kTemperatures * temperature_ / form_.weight(round);
    limit_[round] = std::isinf(slack) ? static_cast<std::uint16_t>(levels_.count() - 1)
                                      : levels_.below(levels_.value(worst_[round]) + slack);
}

bool HardRoundsCost::is_hopeless(Swap swap, const Placement& placement) const {
    const std::vector<int>& order = placement.order();
    for (int side = 0; side < 2; ++side) {
        const std::uint16_t* to_new = levels_.row(order[swap.b]);
        for (const auto* message = form_.begin(swap.a); message != form_.end(swap.a); ++message) {
            if (message->partner == swap.b) continue;
            if (to_new[order[message->partner]] > limit_[message->round]) return true;
        }
        std::swap(swap.a, swap.b);
    }
    return false;
}

Edge HardRoundsCost::worst_edge(const Placement&, ring::Random& random) const {
    const int round = random.below(form_.size());
    const std::vector<std::uint16_t>& levels = edge_level_[round];
    const auto worst = std::find(levels.begin(), levels.end(), worst_[round]);
    const auto [a, b] = form_.edges(round)[worst - levels.begin()];
    return {a, b};
}

double HardRoundsCost::changed(Swap swap, const Placement& placement) {
    const std::vector<int>& order = placement.order();
    std::fill(reached_.begin(), reached_.end(), 0);
    std::fill(left_.begin(), left_.end(), 0);
    Swap sides = swap;
    for (int side = 0; side < 2; ++side) {
        const std::uint16_t* to_new = levels_.row(order[sides.b]);
        for (const auto* message = form_.begin(sides.a); message != form_.end(sides.a); ++message) {
            if (message->partner == sides.b) continue;
            const int round = message->round;
            reached_[round] = std::max(reached_[round], to_new[order[message->partner]]);
            left_[round] |= edge_level_[round][message->edge] == worst_[round];
        }
        std::swap(sides.a, sides.b);
    }
    double change = 0.0;
    for (int round = 0; round < form_.size(); ++round) {
        after_[round] = std::max(worst_[round], reached_[round]);
        if (reached_[round] < worst_[round] && left_[round]) {
            after_[round] = worst_after(swap, round, placement);
        }
        if (after_[round] == worst_[round]) continue;
        change +=
            form_.weight(round) * (levels_.value(after_[round]) - levels_.value(worst_[round]));
    }
    return change;
}

std::uint16_t HardRoundsCost::worst_after(Swap swap, int round, const Placement& placement) {
    std::vector<std::uint16_t>& levels = edge_level_[round];
    // Without those of both ranks, which are then put back.
    for (const int rank : {swap.a, swap.b}) {
        for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
            const bool is_between = message->partner == swap.a || message->partner == swap.b;
            if (message->round == round && !is_between) levels[message->edge] = 0;
        }
    }
    const std::uint16_t found = std::max(reached_[round], highest(levels));
    for (const int rank : {swap.a, swap.b}) {
        const std::uint16_t* row = levels_.row(placement.host(rank));
        for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
            if (message->round == round) {
                levels[message->edge] = row[placement.host(message->partner)];
            }
        }
    }
    return found;
}

void HardRoundsCost::apply(Swap swap, Placement& placement, double change) {
    placement.exchange(swap);
    for (const int rank : {swap.a, swap.b}) {
        const std::uint16_t* row = levels_.row(placement.host(rank));
        for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
            edge_level_[message->round][message->edge] = row[placement.host(message->partner)];
        }
    }
    for (int round = 0; round < form_.size(); ++round) {
        if (after_[round] == worst_[round]) continue;
        worst_[round] = after_[round];
        limit(round);
    }
    cost_ += change;
}

}  // namespace plink::annealing
