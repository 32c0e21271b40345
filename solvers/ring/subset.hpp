#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/nearest.hpp"
#include "ring/random.hpp"

namespace plink::ring {

/// More cities than this would take too much memory and time.
constexpr int kMostSubsetCities = 16;

/// A cheapest ring through `count` of the cities, at least 3: dynamic programming over subsets
/// (Held and Karp 1962), each path from the first city of its subset.
inline std::vector<int> cheapest_subset_ring(const Matrix& distance, int count) {
    // cost[set][end]: the cheapest path through the cities of `set`, from the first to `end`.
    const int n = distance.size();
    const unsigned sets = 1U << n;
    const auto at = [n](unsigned set, int end) { return static_cast<std::size_t>(set) * n + end; };
    std::vector<double> cost(at(sets, 0), std::numeric_limits<double>::infinity());
    std::vector<signed char> before(cost.size(), -1);
    for (int city = 0; city < n; ++city) cost[at(1U << city, city)] = 0.0;
    std::vector<signed char> size_of(sets, 0);
    double cheapest = std::numeric_limits<double>::infinity();
    unsigned best_set = 0;
    int best_end = -1;
    for (unsigned set = 1; set < sets; ++set) {
        const int size = size_of[set] = static_cast<signed char>(size_of[set >> 1] + (set & 1U));
        if (size > count) continue;
        int first = 0;
        while (!(set >> first & 1U)) ++first;
        for (int end = first; end < n; ++end) {
            const double here = cost[at(set, end)];
            if (here == std::numeric_limits<double>::infinity()) continue;
            if (size == count) {
                const double ring = here + distance(end, first);
                if (ring < cheapest) {
                    cheapest = ring;
                    best_set = set;
                    best_end = end;
                }
                continue;
            }
            for (int then = first + 1; then < n; ++then) {
                if (set >> then & 1U) continue;
                const std::size_t target = at(set | 1U << then, then);
                const double longer = here + distance(end, then);
                if (longer < cost[target]) {
                    cost[target] = longer;
                    before[target] = static_cast<signed char>(end);
                }
            }
        }
    }
    std::vector<int> ring;
    for (int end = best_end; end >= 0;) {
        ring.push_back(end);
        const int earlier = before[at(best_set, end)];
        best_set ^= 1U << end;
        end = earlier;
    }
    std::reverse(ring.begin(), ring.end());
    return ring;
}

/// Simulated annealing of a ring through some of the cities, at least 4 and not all: another city
/// takes the place of one of the ring, or one is taken out and put in elsewhere, itself or another.
class SubsetAnnealing {
  public:
    /// Throws `limits::TimeOver`.
    SubsetAnnealing(Matrix distance, const std::vector<int>& ring, std::uint64_t seed,
                    limits::Watch& watch)
        : distance_(std::move(distance)),
          random_(seed),
          next_(distance_.size(), -1),
          previous_(distance_.size(), -1),
          city_(ring),
          place_(distance_.size()),
          used_(static_cast<int>(ring.size())),
          near_count_(std::min(kNearest, distance_.size() - 1)) {
        const int n = distance_.size();
        for (int i = 0; i < used_; ++i) {
            const int after = ring[i + 1 < used_ ? i + 1 : 0];
            next_[ring[i]] = after;
            previous_[after] = ring[i];
            cost_ += distance_(ring[i], after);
        }
        for (int city = 0; city < n; ++city) {
            if (!is_used(city)) city_.push_back(city);
        }
        for (int i = 0; i < n; ++i) place_[city_[i]] = i;
        for (int city = 0; city < n; ++city) {
            watch.throw_if_over();
            append_nearest(distance_, city, near_count_, near_);
        }
    }

    /// Try so many moves at a temperature above 0, in the distances' unit, and none beyond the
    /// time; returns how many.
    long run(long moves, double temperature, limits::Watch& watch) {
        const int n = distance_.size();
        for (long tried = 0; tried < moves; ++tried) {
            if (tried % kMovesBetweenLooks == 0 && watch.is_over()) return tried;
            const int out = city_[random_.below(used_)];
            const int kind = random_.below(4);
            int in = out;
            if (kind > 0) in = city_[used_ + random_.below(n - used_)];
            const int after = near_[in * near_count_ + random_.below(near_count_)];
            const bool replaces = kind == 1 || after == out || !is_used(after);
            if (replaces && in == out) continue;
            const double change = replaces ? replace(out, in) : move(out, in, after);
            if (change > 0.0 && change >= temperature * random_.exponential()) continue;
            cost_ += change;
            if (replaces) {
                apply_replace(out, in);
            } else {
                apply_move(out, in, after);
            }
        }
        return moves;
    }

    /// As it is now, from any of its cities.
    std::vector<int> ring() const {
        std::vector<int> found{city_[0]};
        while (next_[found.back()] != found.front()) found.push_back(next_[found.back()]);
        return found;
    }

    /// By what the moves changed.
    double cost() const { return cost_; }

  private:
    static constexpr int kNearest = 8;
    static constexpr long kMovesBetweenLooks = 256;

    bool is_used(int city) const { return next_[city] >= 0; }
    double replace(int out, int in) const {
        const int p = previous_[out];
        const int n = next_[out];
        return distance_(p, in) + distance_(in, n) - distance_(p, out) - distance_(out, n);
    }

    double move(int out, int in, int after) const {
        const int p = previous_[out];
        const int n = next_[out];
        const int then = after == p ? n : next_[after];
        return distance_(p, n) - distance_(p, out) - distance_(out, n) + distance_(after, in) +
               distance_(in, then) - distance_(after, then);
    }

    void apply_replace(int out, int in) {
        next_[in] = next_[out];
        previous_[in] = previous_[out];
        next_[previous_[in]] = in;
        previous_[next_[in]] = in;
        next_[out] = previous_[out] = -1;
        exchange_places(out, in);
    }

    void apply_move(int out, int in, int after) {
        next_[previous_[out]] = next_[out];
        previous_[next_[out]] = previous_[out];
        next_[out] = previous_[out] = -1;
        previous_[in] = after;
        next_[in] = next_[after];
        previous_[next_[in]] = in;
        next_[after] = in;
        if (in != out) exchange_places(out, in);
    }

    void exchange_places(int out, int in) {
        std::swap(city_[place_[out]], city_[place_[in]]);
        std::swap(place_[out], place_[in]);
    }

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
