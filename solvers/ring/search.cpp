#include "ring/search.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace plink::ring {

namespace {

using Clock = std::chrono::steady_clock;

// Segments of a kick: short, so that what it breaks is repaired near by and soon.
constexpr int kLongestSegment = 30;

// Of a hop of the first ring, and of the longest distance: a smaller difference between two rings
// may be nothing but rounding, and to follow it could go round in circles for ever.
constexpr double kLeastOfHop = 1e-9;
constexpr double kLeastOfLongest = 1e-12;
constexpr double kMostSeconds = 3600.0;

}  // namespace

Search::Search(Matrix distance, const std::vector<std::vector<int>>& candidates,
               std::vector<int> order, std::uint64_t seed, double enough, int depth,
               double temperature)
    : distance_(std::move(distance)),
      random_(seed),
      enough_(enough),
      temperature_(temperature),
      tour_(order),
      cost_(ring_cost(distance_, order)),
      least_(std::max(kLeastOfHop * cost_ / order.size(), kLeastOfLongest * distance_.greatest())),
      local_(distance_, candidates, tour_, least_, depth),
      best_(std::move(order)),
      best_cost_(cost_) {
    for (const int city : best_) local_.wake(city);
}

void Search::shake(int kicks) {
    for (; kicks > 0; --kicks) kick();
    local_.keep();
    best_ = tour_.order();
    best_cost_ = cost_ = ring_cost(distance_, best_);
}

void Search::run(long kicks, double seconds) {
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(std::clamp(seconds, 0.0, kMostSeconds)));
    if (!is_settled_) {
        is_settled_ = local_.improve([end] { return Clock::now() >= end; });
        local_.take_gain();
        local_.keep();
        settle();
        if (!is_settled_) return;
    }
    for (; kicks > 0 && !is_enough() && Clock::now() < end; --kicks) {
        ++kicks_;
        kick();
        local_.improve([] { return false; });
        const double cost = cost_ + kick_cost_ - local_.take_gain();
        const double hop = cost_ / tour_.size();
        if (cost > cost_ + least_ + temperature_ * hop * random_.exponential()) {
            local_.undo();
            continue;
        }
        local_.keep();
        cost_ = cost;
        if (cost_ < best_cost_ - least_) settle();
    }
}

void Search::settle() {
    const double cost = ring_cost(distance_, tour_.order());
    cost_ = cost;
    if (cost < best_cost_) {
        best_cost_ = cost;
        best_ = tour_.order();
    }
}

void Search::kick() {
    // A double bridge: ... x [A] [B] [C] y ... becomes ... x [C] [B] [A] y ...
    const int n = tour_.size();
    const int longest = std::min(kLongestSegment, (n - 2) / 3);
    const int start = random_.below(n);
    int at = start;
    const auto city = [&](int position) { return tour_.order()[position % n]; };
    struct Segment {
        int first, last;
    } segment[3];
    for (Segment& one : segment) {
        one.first = city(at + 1);
        at += 1 + random_.below(longest);
        one.last = city(at);
    }
    const int before = city(start);
    const int after = city(at + 1);
    const auto& [a, b, c] = segment;
    kick_cost_ = distance_(before, c.first) + distance_(c.last, b.first) +
                 distance_(b.last, a.first) + distance_(a.last, after) -
                 distance_(before, a.first) - distance_(a.last, b.first) -
                 distance_(b.last, c.first) - distance_(c.last, after);
    // In the array's own direction, which the tour's may oppose.
    if (tour_.next(before) == a.first) {
        local_.reverse(a.first, c.last);
        for (const Segment& one : segment) local_.reverse(one.last, one.first);
    } else {
        local_.reverse(c.last, a.first);
        for (const Segment& one : segment) local_.reverse(one.first, one.last);
    }
    for (const Segment& one : segment) {
        local_.wake(one.first);
        local_.wake(one.last);
    }
    local_.wake(before);
    local_.wake(after);
}

}  // namespace plink::ring
