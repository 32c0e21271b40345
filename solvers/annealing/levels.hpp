#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::annealing {

/// A distance matrix of at least 2 hosts in steps: two bytes a pair, so that a thousand hosts fit
/// into a cache, and few enough steps that a function of all of them is soon tabled. Every distance
/// has a step of its own where there are few; else steps are fine below a value that nearly all
/// pairs stay below, and coarse above.
class Levels {
  public:
    /// Of very many pairs, some thousands tell the steps. Throws `limits::TimeOver`.
    Levels(const ring::Matrix& distance, limits::Watch& watch);

    int size() const { return size_; }
    int count() const { return static_cast<int>(value_.size()); }
    const std::uint16_t* row(int host) const {
        return level_.data() + static_cast<std::size_t>(host) * size_;
    }
    /// Between the least and the greatest distance of the level, not falling.
    double value(int level) const { return value_[level]; }
    /// The highest level of no more than `distance`; 0 where there is none.
    std::uint16_t below(double distance) const;

  private:
    void set_guide();

    int size_;
    std::vector<double> value_;
    // By even part of what lies between the least value and the greatest, the level of its begin.
    std::vector<std::uint16_t> guide_;
    double parts_per_unit_ = 0.0;
    std::vector<std::uint16_t> level_;
};

}  // namespace plink::annealing
