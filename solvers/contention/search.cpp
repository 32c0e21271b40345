#include "contention/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace plink::contention {

namespace {

constexpr int kStepsBetweenLooks = 64;
constexpr int kSampledSwaps = 100;
constexpr double kCoolest = 1e-3;
// What the distances weigh beside the time while annealing, at its beginning and at most.
constexpr double kTieShare = 1e-3;
// Times within this share are alike: sums come out a little different each way they are made.
constexpr double kTolerance = 1e-9;

/// No order's distances sum up to more.
double greatest_tie(const Problem& problem) {
    const double greatest = problem.tie_distance.greatest();
    double messages = 0.0;
    for (int stage = 0; stage < problem.waits.size(); ++stage) {
        const int flows = problem.waits.starts[stage + 1] - problem.waits.starts[stage];
        messages += problem.waits.counts[stage] * flows;
    }
    return messages * greatest;
}

}  // namespace

Search::Search(const Problem& problem, std::vector<int> order, std::uint64_t seed, long steps,
               double heat)
    : problem_(problem),
      random_(seed),
      state_(problem_, order),
      steps_(steps),
      best_(std::move(order)) {
    const double most = greatest_tie(problem_);
    if (most > 0.0) tie_weight_ = kTieShare / most * state_.cost().time_s;
    best_energy_ = energy();
    if (problem_.hosts < 2) {
        steps_ = 0;
        is_done_ = true;
    } else if (steps_ > 0) {
        measure_heat(heat);
    } else {
        begin_polish();
    }
}

void Search::run(double seconds) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
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

double Search::energy() const {
    const Cost cost = state_.cost();
    return cost.time_s + tie_weight_ * cost.tie;
}

void Search::measure_heat(double heat) {
    double total = 0.0;
    for (int i = 0; i < kSampledSwaps; ++i) {
        const int first = random_.below(problem_.hosts);
        const int second = random_.below(problem_.hosts);
        const double before = energy();
        if (first != second) state_.swap(first, second);
        total += std::fabs(energy() - before);
        if (first != second) state_.swap(first, second);
    }
    temperature_ = heat * total / kSampledSwaps;
    cooling_ = std::pow(kCoolest, 1.0 / static_cast<double>(steps_));
}

void Search::anneal_step() {
    const int first = random_.below(problem_.hosts);
    const int second = random_.below(problem_.hosts);
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

void Search::begin_polish() {
    state_.reset(best_);
    state_.set_smooth(false);
    reached_ = state_.cost();
}

void Search::polish_step() {
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
    if (++second_ == problem_.hosts) {
        first_ = first_ + 2 < problem_.hosts ? first_ + 1 : 0;
        second_ = first_ + 1;
    }
    const long all = static_cast<long>(problem_.hosts) * (problem_.hosts - 1) / 2;
    is_done_ = idle_swaps_ >= all;
}

bool Search::is_better(const Cost& now) const {
    const double slack_s = kTolerance * reached_.time_s;
    if (now.time_s < reached_.time_s - slack_s) return true;
    return now.time_s <= reached_.time_s && now.tie < reached_.tie * (1.0 - kTolerance);
}

}  // namespace plink::contention
