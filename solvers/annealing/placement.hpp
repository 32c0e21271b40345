#pragma once

#include <utility>
#include <vector>

namespace plink::annealing {

/// Two ranks whose hosts change places.
struct Swap {
    int a, b;
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

}  // namespace plink::annealing
