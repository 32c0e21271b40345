#pragma once

#include <cstdint>
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
           std::uint64_t seed, double enough, int depth, double temperature);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    /// Before the first `run`: kick the first order in so many places, and begin from there.
    void shake(int kicks);

    /// Improve the first order, then kick until `kicks` are done or `seconds` (at most an hour)
    /// are over. What is found depends only on how many kicks were done, not on how they were cut
    /// into calls.
    void run(long kicks, double seconds);

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
    /// Kicks since the best ring was found.

  private:
    void kick();
    void settle();

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
    bool is_settled_ = false;
    long kicks_ = 0;
};

}  // namespace plink::ring
