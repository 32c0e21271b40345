#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "ring/lin_kernighan.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"
#include "ring/tour.hpp"

namespace plink::ring {

/// Iterated local search: kick the ring in one place, improve around it, keep what is not much
/// worse (Martin, Otto, Felten 1991). At least 8 cities.
class Search {
  public:
    /// `depth`: the longest chain of exchanges. `temperature`: a ring dearer by about this share
    /// of a hop is kept.
    Search(Matrix distance, const std::vector<std::vector<int>>& candidates, std::vector<int> order,
           std::uint64_t seed, double enough, int depth, double temperature)
        : distance_(std::move(distance)),
          random_(seed),
          enough_(enough),
          temperature_(temperature),
          tour_(order),
          cost_(ring_cost(distance_, order)),
          least_(
              std::max(kLeastOfHop * cost_ / order.size(), kLeastOfLongest * distance_.greatest())),
          local_(distance_, candidates, tour_, least_, depth),
          best_(std::move(order)),
          best_cost_(cost_) {
        wake_all();
    }

    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Before the first `run`: kick the first order in so many places, and begin from there.
    void shake(int kicks) {
        for (; kicks > 0; --kicks) kick();
        local_.keep();
        best_ = tour_.order();
        best_cost_ = cost_ = ring_cost(distance_, best_);
    }

    /// Improve the first order, then kick until `kicks` are done or `seconds` (at most an hour)
    /// are over. What is found depends only on how many kicks were done, not on how they were cut
    /// into calls.
    void run(long kicks, double seconds) {
        const auto end = Clock::now() +
                         std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(std::clamp(seconds, 0.0, kMostSeconds)));
        while (!is_settled_) {
            const bool is_looked_at = local_.improve([end] { return Clock::now() >= end; });
            gain_of_look_ += local_.take_gain();
            local_.keep();
            settle();
            if (!is_looked_at) return;
            is_settled_ = gain_of_look_ == 0.0;
            gain_of_look_ = 0.0;
            // A city is looked at again where an edge of its own changed (Bentley 1992). What
            // another edge makes possible is found when all are looked at again.
            if (!is_settled_) wake_all();
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

    /// Whether the first order was improved as far as it goes, so that kicking began.
    bool is_settled() const { return is_settled_; }
    const std::vector<int>& best() const { return best_; }
    double best_cost() const { return best_cost_; }
    /// The ring that is kicked now, and its cost as the sum of all changes.
    const std::vector<int>& current() const { return tour_.order(); }
    double current_cost() const { return cost_; }
    long kicks() const { return kicks_; }
    /// Whether the best ring costs no more than `enough`, which ends the kicking.
    bool is_enough() const { return best_cost_ <= enough_; }

  private:
    using Clock = std::chrono::steady_clock;

    // Segments of a kick: short, so that what it breaks is repaired near by and soon.
    static constexpr int kLongestSegment = 30;

    // Of a hop of the first ring, and of the longest distance: a smaller difference between two
    // rings may be nothing but rounding, and to follow it could go round in circles for ever.
    static constexpr double kLeastOfHop = 1e-9;
    static constexpr double kLeastOfLongest = 1e-12;
    static constexpr double kMostSeconds = 3600.0;

    void kick() {
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

    void wake_all() {
        for (const int city : tour_.order()) local_.wake(city);
    }

    void settle() {
        const double cost = ring_cost(distance_, tour_.order());
        cost_ = cost;
        if (cost < best_cost_) {
            best_cost_ = cost;
            best_ = tour_.order();
        }
    }

    Matrix distance_;
    Random random_;
    double enough_;
    double temperature_;
    Tour tour_;
    double cost_;
    double least_;
    LinKernighan local_;
    std::vector<int> best_;
    double best_cost_;
    double kick_cost_ = 0.0;
    double gain_of_look_ = 0.0;
    bool is_settled_ = false;
    long kicks_ = 0;
};

}  // namespace plink::ring
