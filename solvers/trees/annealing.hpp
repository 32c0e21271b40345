#pragma once

#include <cstdint>
#include <vector>

#include "ring/matrix.hpp"
#include "ring/random.hpp"
#include "trees/form.hpp"

namespace plink::trees {

/// Simulated annealing of an order on the greatest sum of distances from a root to a leaf, by swaps
/// of two ranks, many of which target an edge of the critical path. At least 3 ranks, at least one
/// tree.
class Annealing {
  public:
    Annealing(Matrix distance, std::vector<Tree> trees, std::vector<int> order, std::uint64_t seed);
    Annealing(const Annealing&) = delete;
    Annealing& operator=(const Annealing&) = delete;

    /// Go on from this order. The best one stays.
    void restart(const std::vector<int>& order);

    /// Try so many moves at a temperature above 0, in the distances' unit. What is found depends on
    /// the calls, not on the time.
    void run(long moves, double temperature);

    const std::vector<int>& best() const { return best_; }
    double best_cost() const { return best_cost_; }
    const std::vector<int>& current() const { return order_; }
    /// The current order's cost by what the moves changed.
    double current_cost() const;

  private:
    struct Swap {
        int a, b;
    };
    struct Height {
        int tree, rank;
        double before;
    };

    Swap propose();
    Swap target();
    void exchange(Swap swap);
    void update(int tree, Swap swap);
    bool refresh(int tree, int rank);

    int near(int host) { return near_[host * near_count_ + random_.below(near_count_)]; }

    Matrix distance_;
    std::vector<Tree> trees_;
    ring::Random random_;
    int ranks_;
    int near_count_;
    std::vector<int> near_;  // by host, the nearest others

    std::vector<int> order_;
    std::vector<int> rank_of_;
    std::vector<std::vector<double>> height_;  // by tree and rank
    std::vector<Height> journal_;
    std::vector<int> path_;

    std::vector<int> best_;
    double best_cost_;
};

}  // namespace plink::trees
