#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/nearest.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// Two ranks whose hosts change places.
struct Swap {
    int a, b;
};

/// How readily a swap that costs more is accepted, and how soft a maximum is where the cost has
/// one; both in the distances' unit, above 0.
struct Heat {
    double temperature, softness;
};

/// Two ranks that exchange data.
struct Edge {
    int a, b;
};

/// Which host every rank is on, and which rank is on every host.
class Placement {
  public:
    explicit Placement(std::vector<int> order) : order_(std::move(order)), rank_of_(order_.size()) {
        for (int rank = 0; rank < ranks(); ++rank) rank_of_[order_[rank]] = rank;
    }

    int ranks() const { return static_cast<int>(order_.size()); }
    int host(int rank) const { return order_[rank]; }
    int rank(int host) const { return rank_of_[host]; }
    const std::vector<int>& order() const { return order_; }

    void exchange(Swap swap) {
        std::swap(order_[swap.a], order_[swap.b]);
        rank_of_[order_[swap.a]] = swap.a;
        rank_of_[order_[swap.b]] = swap.b;
    }

  private:
    std::vector<int> order_;
    std::vector<int> rank_of_;
};

/// Simulated annealing of an order by swaps of two ranks, many of which target an edge that the
/// cost hinges on, or bring hosts that are near each other together. At least 3 ranks.
///
/// `Cost` is what the order costs, and follows every swap. It has
/// - `kTargets`, `kNear`: of each kind of move, in sixteenths; the others swap two random ranks;
/// - `heat(Heat)`: go on at this heat;
/// - `distance()`, of the hosts;
/// - `place(Placement)`: begin with this order;
/// - `worst_edge(Placement, Random&)`: one that the cost hinges on;
/// - `attempt(Swap, Placement&, accepts)`: swap if `accepts(change of the cost)`, which is asked
///   once or not at all;
/// - `current()`: the order's cost by what the swaps changed, and `exact(order)`;
/// - `moves_per_look(ranks)`: how many moves pass until the order is compared with the best.
template <class Cost>
class Annealing {
  public:
    /// Throws `limits::TimeOver`.
    Annealing(Cost cost, std::vector<int> order, std::uint64_t seed, limits::Watch& watch)
        : cost_(std::move(cost)),
          random_(seed),
          placement_(std::move(order)),
          near_count_(std::min(kNearest, placement_.ranks() - 1)),
          near_(nearest(cost_.distance(), near_count_, watch)),
          best_(placement_.order()) {
        cost_.place(placement_);
        best_cost_ = cost_.exact(best_);
        best_current_ = cost_.current();
    }
    Annealing(const Annealing&) = delete;
    Annealing& operator=(const Annealing&) = delete;

    /// Go on from this order. The best one stays.
    void restart(const std::vector<int>& order) {
        placement_ = Placement(order);
        cost_.place(placement_);
    }

    /// Try so many moves, or as many as the time suffices for; returns how many. What is found
    /// depends on the calls, and not on the time unless that is over.
    long run(long moves, const Heat& heat, limits::Watch& watch) {
        cost_.heat(heat);
        const auto accepts = [this, &heat](double change) {
            return change <= 0.0 || change < heat.temperature * random_.exponential();
        };
        const long look = cost_.moves_per_look(placement_.ranks());
        for (long move = 1; move <= moves; ++move) {
            const Swap swap = propose();
            if (swap.a != swap.b) cost_.attempt(swap, placement_, accepts);
            const bool is_over = move % kMovesBetweenLooks == 0 && watch.is_over();
            if (move % look == 0 || move == moves || is_over) keep_best();
            if (is_over) return move;
        }
        return moves;
    }

    const std::vector<int>& best() const { return best_; }
    double best_cost() const { return best_cost_; }
    const std::vector<int>& current() const { return placement_.order(); }
    double current_cost() const { return cost_.current(); }

  private:
    static constexpr int kNearest = 16;
    static constexpr long kMovesBetweenLooks = 64;

    /// By host, the `count` nearest others.
    static std::vector<int> nearest(const ring::Matrix& distance, int count, limits::Watch& watch) {
        std::vector<int> near;
        near.reserve(static_cast<std::size_t>(count) * distance.size());
        for (int host = 0; host < distance.size(); ++host) {
            watch.throw_if_over();
            ring::append_nearest(distance, host, count, near);
        }
        return near;
    }

    /// The rank on one of the hosts near that of `rank`.
    int neighbour(int rank) {
        const int host = placement_.host(rank);
        return placement_.rank(near_[host * near_count_ + random_.below(near_count_)]);
    }

    Swap propose() {
        const int kind = random_.below(16);
        if (kind < Cost::kTargets) return target();
        const int a = random_.below(placement_.ranks());
        if (kind < Cost::kTargets + Cost::kNear) return {a, neighbour(a)};
        return {a, random_.below(placement_.ranks())};
    }

    Swap target() {
        auto [a, stays] = cost_.worst_edge(placement_, random_);
        const std::uint64_t bits = random_.next();
        if (bits & 1) std::swap(a, stays);
        const int b = bits & 2 ? neighbour(stays) : random_.below(placement_.ranks());
        return b == stays ? Swap{a, a} : Swap{a, b};
    }

    void keep_best() {
        const double now = cost_.current();
        if (now > best_current_) return;
        const double cost = cost_.exact(placement_.order());
        if (cost >= best_cost_) return;
        best_ = placement_.order();
        best_cost_ = cost;
        best_current_ = now;
    }

    Cost cost_;
    ring::Random random_;
    Placement placement_;
    int near_count_;
    std::vector<int> near_;

    std::vector<int> best_;
    double best_cost_;
    double best_current_;
};

}  // namespace plink::annealing
