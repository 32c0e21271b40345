#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>
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
           double heat)
        : problem_(problem),
          random_(seed),
          state_(problem_, order),
          steps_(steps),
          best_(std::move(order)) {
        const double most = greatest_tie(problem_);
        if (most > 0.0) tie_weight_ = kTieShare / most * state_.cost().time_s;
        best_energy_ = energy();
        if (problem_.hosts() < 2) {
            steps_ = 0;
            is_done_ = true;
        } else if (steps_ > 0) {
            measure_heat(heat);
        } else {
            begin_polish();
        }
    }

    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Go on until the chain is done or `seconds` are over. What is found depends only on how far
    /// the chain went, not on how it was cut into calls.
    void run(double seconds) {
        const auto until =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!is_done_ && std::chrono::steady_clock::now() < until) {
            for (int i = 0; i < kStepsBetweenLooks && !is_done_; ++i) {
                if (is_annealing()) {
                    anneal_step();
                } else {
                    polish_step();
                }
            }
        }
    }

    bool is_done() const { return is_done_; }
    long steps() const { return steps_done_; }
    const std::vector<int>& order() const { return is_annealing() ? best_ : state_.order(); }
    /// Of the order as it is now, with every sum changed swap by swap; for tests.
    Cost cost() const { return state_.cost(); }
    const std::vector<int>& current() const { return state_.order(); }

  private:
    static constexpr int kStepsBetweenLooks = 64;
    static constexpr int kSampledSwaps = 100;
    static constexpr double kCoolest = 1e-3;
    // What the distances weigh beside the time while annealing, at its beginning and at most.
    static constexpr double kTieShare = 1e-3;
    // Times within this share are alike: sums come out a little different each way they are made.
    static constexpr double kTolerance = 1e-9;

    /// No order's distances sum up to more.
    static double greatest_tie(const Problem& problem) {
        const double greatest = problem.tie_distance.greatest();
        double messages = 0.0;
        for (int stage = 0; stage < problem.waits.size(); ++stage) {
            const int flows = problem.waits.starts[stage + 1] - problem.waits.starts[stage];
            messages += problem.waits.counts[stage] * flows;
        }
        return messages * greatest;
    }

    bool is_annealing() const { return steps_done_ < steps_; }
    double energy() const {
        const Cost cost = state_.cost();
        return cost.time_s + tie_weight_ * cost.tie;
    }

    void measure_heat(double heat) {
        double total = 0.0;
        for (int i = 0; i < kSampledSwaps; ++i) {
            const int first = random_.below(problem_.hosts());
            const int second = random_.below(problem_.hosts());
            const double before = energy();
            if (first != second) state_.swap(first, second);
            total += std::fabs(energy() - before);
            if (first != second) state_.swap(first, second);
        }
        temperature_ = heat * total / kSampledSwaps;
        cooling_ = std::pow(kCoolest, 1.0 / static_cast<double>(steps_));
    }

    void anneal_step() {
        const int first = random_.below(problem_.hosts());
        const int second = random_.below(problem_.hosts());
        if (first != second) {
            const double before = energy();
            state_.swap(first, second);
            const double now = energy();
            if (now - before > temperature_ * random_.exponential()) {
                state_.swap(first, second);
            } else if (now < best_energy_) {
                best_energy_ = now;
                best_ = state_.order();
            }
        }
        temperature_ *= cooling_;
        if (++steps_done_ == steps_) begin_polish();
    }

    void begin_polish() {
        state_.reset(best_);
        state_.set_smooth(false);
        reached_ = state_.cost();
    }

    void polish_step() {
        state_.swap(first_, second_);
        const Cost now = state_.cost();
        if (is_better(now)) {
            reached_ = now;
            idle_swaps_ = 0;
        } else {
            state_.swap(first_, second_);
            ++idle_swaps_;
        }
        ++steps_done_;
        if (++second_ == problem_.hosts()) {
            first_ = first_ + 2 < problem_.hosts() ? first_ + 1 : 0;
            second_ = first_ + 1;
        }
        const long all = static_cast<long>(problem_.hosts()) * (problem_.hosts() - 1) / 2;
        is_done_ = idle_swaps_ >= all;
    }

    bool is_better(const Cost& now) const {
        const double slack_s = kTolerance * reached_.time_s;
        if (now.time_s < reached_.time_s - slack_s) return true;
        return now.time_s <= reached_.time_s && now.tie < reached_.tie * (1.0 - kTolerance);
    }

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
