#pragma once

#include <cstdint>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::ring {

/// More cities than this would take too much memory and time.
constexpr int kMostSubsetCities = 16;

/// A cheapest ring through `count` of the cities, at least 3: dynamic programming over subsets
/// (Held and Karp 1962), each path from the first city of its subset.
std::vector<int> cheapest_subset_ring(const Matrix& distance, int count);

/// Simulated annealing of a ring through some of the cities, at least 4 and not all: another city
/// takes the place of one of the ring, or one is taken out and put in elsewhere, itself or another.
class SubsetAnnealing {
  public:
    /// Throws `limits::TimeOver`.
    SubsetAnnealing(Matrix distance, const std::vector<int>& ring, std::uint64_t seed,
                    limits::Watch& watch);

    /// Try so many moves at a temperature above 0, in the distances' unit, and none beyond the
    /// time; returns how many.
    long run(long moves, double temperature, limits::Watch& watch);

    /// As it is now, from any of its cities.
    std::vector<int> ring() const;
    /// By what the moves changed.
    double cost() const { return cost_; }

  private:
    bool is_used(int city) const { return next_[city] >= 0; }
    double replace(int out, int in) const;
    double move(int out, int in, int after) const;
    void apply_replace(int out, int in);
    void apply_move(int out, int in, int after);
    void exchange_places(int out, int in);

    Matrix distance_;
    Random random_;
    std::vector<int> next_;  // by city, -1 outside of the ring
    std::vector<int> previous_;
    std::vector<int> city_;   // those of the ring first
    std::vector<int> place_;  // by city, in `city_`
    int used_;
    int near_count_;
    std::vector<int> near_;  // by city, the nearest others
    double cost_ = 0.0;
};

}  // namespace plink::ring
