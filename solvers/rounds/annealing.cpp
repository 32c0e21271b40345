#include "rounds/annealing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace plink::rounds {

namespace {

// Of each kind of move, in sixteenths; the others swap two random ranks.
constexpr int kTargets = 6;
constexpr int kNear = 3;

// A target is the round's worst edge half of the time, else the worst of so many random ones.
constexpr int kContenders = 8;
constexpr int kNearest = 16;

// A swap that makes an edge so many softnesses and temperatures worse than its round's smoothed
// maximum is not looked at further: hardly one of them would be accepted.
constexpr double kSoftnesses = 0.5;
constexpr double kTemperatures = 3.0;

// A sum that fell so far has lost its digits.
constexpr double kFallen = 1e-4;
constexpr double kMostExponent = 60.0;
constexpr double kLeast = 1e-300;

// Moves between two looks at the maximum itself: so many a rank, but for many ranks.
constexpr long kLookPerRank = 4;
constexpr long kMostLook = 2048;

// Factors between two logarithms of their product, so that it neither over- nor underflows.
constexpr int kFactors = 8;
constexpr double kLeastFactor = 1e-9;

}  // namespace

Annealing::Annealing(Matrix distance, Form form, std::vector<int> order, std::uint64_t seed)
    : distance_(std::move(distance)),
      form_(std::move(form)),
      levels_(distance_),
      random_(seed),
      near_count_(std::min(kNearest, form_.ranks() - 1)),
      rank_of_(form_.ranks()),
      edge_level_(form_.size()),
      share_(levels_.count()),
      sum_(form_.size()),
      summed_(form_.size()),
      added_(form_.size()),
      limit_(form_.size()),
      best_(order),
      best_cost_(form_.cost(distance_, order)) {
    for (int round = 0; round < form_.size(); ++round) {
        weight_.push_back(form_.weight(round));
        edge_level_[round].resize(form_.edges(round).size());
    }
    mean_weight_ = std::accumulate(weight_.begin(), weight_.end(), 0.0) / form_.size();
    for (double& weight : weight_) weight /= mean_weight_;
    is_even_ = std::all_of(weight_.begin(), weight_.end(), [](double w) { return w == 1.0; });
    std::vector<int> hosts;
    for (int host = 0; host < form_.ranks(); ++host) {
        hosts.resize(form_.ranks());
        std::iota(hosts.begin(), hosts.end(), 0);
        hosts.erase(hosts.begin() + host);
        const double* row = distance_.row(host);
        std::partial_sort(hosts.begin(), hosts.begin() + near_count_, hosts.end(),
                          [row](int x, int y) { return row[x] < row[y]; });
        near_.insert(near_.end(), hosts.begin(), hosts.begin() + near_count_);
    }
    restart(order);
    best_level_cost_ = current_cost();
}

void Annealing::restart(const std::vector<int>& order) {
    order_ = order;
    for (int rank = 0; rank < form_.ranks(); ++rank) rank_of_[order_[rank]] = rank;
    for (int round = 0; round < form_.size(); ++round) {
        const Form::Edges& edges = form_.edges(round);
        for (std::size_t edge = 0; edge < edges.size(); ++edge) {
            const auto [a, b] = edges[edge];
            edge_level_[round][edge] = levels_.row(order_[a])[order_[b]];
        }
    }
}

void Annealing::run(long moves, double softness, double temperature) {
    heat(softness, temperature);
    const long look = std::min(kMostLook, kLookPerRank * form_.ranks());
    for (long move = 1; move <= moves; ++move) {
        const Swap swap = propose();
        if (swap.a != swap.b && !is_hopeless(swap)) {
            const double change_now = change(swap);
            if (change_now <= 0.0 || change_now < temperature_ * random_.exponential()) apply(swap);
        }
        if (move % look == 0 || move == moves) keep_best();
    }
}

void Annealing::heat(double softness, double temperature) {
    softness_ = softness;
    temperature_ = temperature;
    std::uint16_t worst = 0;
    for (const auto& levels : edge_level_) {
        worst = std::max(worst, *std::max_element(levels.begin(), levels.end()));
    }
    reference_ = levels_.value(worst);
    for (int level = 0; level < levels_.count(); ++level) {
        const double exponent = (levels_.value(level) - reference_) / softness_;
        share_[level] = std::exp(static_cast<float>(std::min(exponent, kMostExponent)));
    }
    for (int round = 0; round < form_.size(); ++round) sum_up(round);
}

void Annealing::sum_up(int round) {
    double sum = kLeast;
    for (const std::uint16_t level : edge_level_[round]) sum += share_[level];
    sum_[round] = summed_[round] = sum;
    limit(round);
}

void Annealing::limit(int round) {
    const double smoothed = reference_ + softness_ * std::log(sum_[round]);
    const double slack = kSoftnesses * softness_ + kTemperatures * temperature_ / weight_[round];
    limit_[round] = levels_.below(smoothed + slack);
}

Annealing::Swap Annealing::propose() {
    const int kind = random_.below(16);
    if (kind < kTargets) return target();
    const int a = random_.below(form_.ranks());
    if (kind < kTargets + kNear) return {a, rank_of_[near(order_[a])]};
    return {a, random_.below(form_.ranks())};
}

Annealing::Swap Annealing::target() {
    const int round = random_.below(form_.size());
    auto [a, stays] = form_.edges(round)[worst_edge(round)];
    const std::uint64_t bits = random_.next();
    if (bits & 1) std::swap(a, stays);
    const int b = bits & 2 ? rank_of_[near(order_[stays])] : random_.below(form_.ranks());
    return b == stays ? Swap{a, a} : Swap{a, b};
}

int Annealing::worst_edge(int round) {
    const std::vector<std::uint16_t>& levels = edge_level_[round];
    if (random_.next() & 1) {
        // In two passes, which a compiler makes fast, as it does not with max_element.
        std::uint16_t worst = 0;
        for (const std::uint16_t level : levels) worst = std::max(worst, level);
        return static_cast<int>(std::find(levels.begin(), levels.end(), worst) - levels.begin());
    }
    const int edges = static_cast<int>(levels.size());
    int worst = random_.below(edges);
    for (int i = 1; i < kContenders; ++i) {
        const int other = random_.below(edges);
        if (levels[other] > levels[worst]) worst = other;
    }
    return worst;
}

bool Annealing::is_hopeless(Swap swap) const {
    for (int side = 0; side < 2; ++side) {
        const std::uint16_t* to_new = levels_.row(order_[swap.b]);
        for (const auto* message = form_.begin(swap.a); message != form_.end(swap.a); ++message) {
            if (message->partner == swap.b) continue;
            if (to_new[order_[message->partner]] > limit_[message->round]) return true;
        }
        std::swap(swap.a, swap.b);
    }
    return false;
}

double Annealing::change(Swap swap) {
    std::fill(added_.begin(), added_.end(), 0.0);
    for (int side = 0; side < 2; ++side) {
        const std::uint16_t* to_old = levels_.row(order_[swap.a]);
        const std::uint16_t* to_new = levels_.row(order_[swap.b]);
        for (const auto* message = form_.begin(swap.a); message != form_.end(swap.a); ++message) {
            if (message->partner == swap.b) continue;
            const int host = order_[message->partner];
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
    return softness_ * (logarithms + std::log(product));
}

void Annealing::apply(Swap swap) {
    std::swap(order_[swap.a], order_[swap.b]);
    for (const int rank : {swap.a, swap.b}) {
        rank_of_[order_[rank]] = rank;
        const std::uint16_t* row = levels_.row(order_[rank]);
        for (const auto* message = form_.begin(rank); message != form_.end(rank); ++message) {
            edge_level_[message->round][message->edge] = row[order_[message->partner]];
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

double Annealing::current_cost() const {
    double cost = 0.0;
    for (int round = 0; round < form_.size(); ++round) {
        std::uint16_t worst = 0;
        for (const std::uint16_t level : edge_level_[round]) worst = std::max(worst, level);
        cost += form_.weight(round) * levels_.value(worst);
    }
    return cost;
}

void Annealing::keep_best() {
    const double level_cost = current_cost();
    if (level_cost > best_level_cost_) return;
    const double cost = form_.cost(distance_, order_);
    if (cost >= best_cost_) return;
    best_ = order_;
    best_cost_ = cost;
    best_level_cost_ = level_cost;
}

}  // namespace plink::rounds
