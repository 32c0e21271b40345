#pragma once

#include <cstdint>
#include <vector>

#include "contention/problem.hpp"
#include "contention/state.hpp"
#include "ring/random.hpp"

namespace plink::contention {

/// One chain: annealing by swaps of two ranks on the smooth time (Kirkpatrick, Gelatt, Vecchi
/// 1983), then all swaps that make the best order found quicker, or as quick and nearer.
class Search {
  public:
    /// `steps` swaps are tried at temperatures that fall from `heat` times the mean change of time
    /// by a random swap to a thousandth of that.
    Search(const Problem& problem, std::vector<int> order, std::uint64_t seed, long steps,
           double heat);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Go on until the chain is done or `seconds` are over. What is found depends only on how far
    /// the chain went, not on how it was cut into calls.
    void run(double seconds);

    bool is_done() const { return is_done_; }
    long steps() const { return steps_done_; }
    const std::vector<int>& order() const { return is_annealing() ? best_ : state_.order(); }
    /// Of the order as it is now, with every sum changed swap by swap; for tests.
    Cost cost() const { return state_.cost(); }
    const std::vector<int>& current() const { return state_.order(); }

  private:
    bool is_annealing() const { return steps_done_ < steps_; }
    double energy() const;
    void measure_heat(double heat);
    void anneal_step();
    void begin_polish();
    void polish_step();
    bool is_better(const Cost& now) const;

    const Problem& problem_;  // outlives the search
    ring::Random random_;
    State state_;
    long steps_;
    long steps_done_ = 0;
    double tie_weight_ = 0.0;
    double temperature_ = 0.0;
    double cooling_ = 1.0;
    std::vector<int> best_;
    double best_energy_;
    Cost reached_;
    int first_ = 0;
    int second_ = 1;
    long idle_swaps_ = 0;
    bool is_done_ = false;
};

}  // namespace plink::contention
