#pragma once

#include <cstdint>
#include <vector>

#include "ring/matrix.hpp"
#include "ring/random.hpp"
#include "rounds/form.hpp"
#include "rounds/levels.hpp"

namespace plink::rounds {

/// Simulated annealing of an order on a smoothed maximum: sum over rounds of weight times
/// s log sum exp(distance / s), with a softness s that the caller lowers, by swaps of two ranks,
/// many of which target an edge that is among a round's worst. At least 3 ranks, at least one
/// round, no round without edges, weights above 0.
class Annealing {
  public:
    Annealing(Matrix distance, Form form, std::vector<int> order, std::uint64_t seed);
    Annealing(const Annealing&) = delete;
    Annealing& operator=(const Annealing&) = delete;

    /// Go on from this order. The best one stays.
    void restart(const std::vector<int>& order);

    /// Try so many moves. `softness` and `temperature` are in the distances' unit, above 0, the
    /// latter for a round of mean weight. What is found depends on the calls, not on the time.
    void run(long moves, double softness, double temperature);

    const std::vector<int>& best() const { return best_; }
    double best_cost() const { return best_cost_; }
    const std::vector<int>& current() const { return order_; }
    /// The current order's cost by what the moves changed: equal to its twin's but for the levels'
    /// width.
    double current_cost() const;

  private:
    struct Swap {
        int a, b;
    };

    void heat(double softness, double temperature);
    void sum_up(int round);
    void limit(int round);
    Swap propose();
    Swap target();
    bool is_hopeless(Swap swap) const;
    double change(Swap swap);
    void apply(Swap swap);
    int worst_edge(int round);
    void keep_best();

    int near(int host) { return near_[host * near_count_ + random_.below(near_count_)]; }

    Matrix distance_;
    Form form_;
    Levels levels_;
    ring::Random random_;
    std::vector<double> weight_;  // of mean 1
    double mean_weight_;
    bool is_even_;
    int near_count_;
    std::vector<int> near_;  // by host, the nearest others

    std::vector<int> order_;
    std::vector<int> rank_of_;
    std::vector<std::vector<std::uint16_t>> edge_level_;  // by round and edge

    double softness_ = 1.0;
    double temperature_ = 1.0;
    double reference_ = 0.0;
    std::vector<float> share_;    // by level, exp((distance - reference) / softness)
    std::vector<double> sum_;     // by round, of its edges' shares
    std::vector<double> summed_;  // by round, the greatest since it was summed up
    std::vector<double> added_;   // by round, what the swap in question adds
    std::vector<std::uint16_t> limit_;

    std::vector<int> best_;
    double best_cost_;
    double best_level_cost_;
};

}  // namespace plink::rounds
