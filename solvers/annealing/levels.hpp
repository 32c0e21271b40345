#pragma once

#include <algorithm>
#include <cmath>
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
    Levels(const ring::Matrix& distance, limits::Watch& watch)
        : size_(distance.size()),
          level_(static_cast<std::size_t>(distance.size()) * distance.size()) {
        std::vector<double> sorted;
        const std::size_t pairs = level_.size() / 2;
        const auto step = static_cast<int>(1 + pairs / kMostSorted);
        sorted.reserve(pairs / step + size_);
        for (int i = 0; i < size_; ++i) {
            const double* row = distance.row(i);
            // Another first one in each row, so that no pattern of the hosts' numbers meets the
            // step.
            for (int j = i + 1 + (step > 1 ? i * 7 % step : 0); j < size_; j += step) {
                sorted.push_back(row[j]);
            }
            watch.throw_if_over();
        }
        std::sort(sorted.begin(), sorted.end());
        const auto cap =
            static_cast<std::size_t>((1.0 - kCoarseShare) * static_cast<double>(sorted.size() - 1));
        const double fine = sorted[cap];
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        if (sorted.size() <= kMost) {
            value_ = sorted;
        } else {
            const double least = sorted.front();
            const double greatest = sorted.back();
            for (int i = 0; i < kFine; ++i) value_.push_back(least + (fine - least) * i / kFine);
            for (int i = kFine; i < kMost; ++i) {
                value_.push_back(fine + (greatest - fine) * (i - kFine) / (kMost - 1 - kFine));
            }
        }
        set_guide();
        for (int i = 0; i < size_; ++i) {
            watch.throw_if_over();
            const double* row = distance.row(i);
            std::uint16_t* levels = level_.data() + static_cast<std::size_t>(i) * size_;
            for (int j = 0; j < size_; ++j) levels[j] = below(row[j]);
            levels[i] = 0;
        }
    }

    int size() const { return size_; }
    int count() const { return static_cast<int>(value_.size()); }
    const std::uint16_t* row(int host) const {
        return level_.data() + static_cast<std::size_t>(host) * size_;
    }
    /// Between the least and the greatest distance of the level, not falling.
    double value(int level) const { return value_[level]; }
    /// The highest level of no more than `distance`; 0 where there is none.
    std::uint16_t below(double distance) const {
        const double part = (distance - value_.front()) * parts_per_unit_;
        const int begin = part <= 0.0 ? 0 : static_cast<int>(std::min(part, kGuide - 1.0));
        const bool is_guided = parts_per_unit_ > 0.0 && begin + 1 < kGuide;
        const int end = is_guided ? std::min(count(), guide_[begin + 1] + 3) : count();
        const auto above =
            std::upper_bound(value_.begin() + guide_[begin], value_.begin() + end, distance);
        return static_cast<std::uint16_t>(std::max<std::ptrdiff_t>(above - value_.begin() - 1, 0));
    }

  private:
    // A table of so many floats stays in the first-level cache.
    static constexpr int kMost = 4096;
    static constexpr int kFine = 3072;

    // More pairs are not sorted, but a sample of them.
    static constexpr std::size_t kMostSorted = 1 << 21;

    static constexpr int kGuide = 8192;

    // Of the pairs, those above the fine steps: an outlier must not make all steps coarse.
    static constexpr double kCoarseShare = 0.02;

    void set_guide() {
        const double range = value_.back() - value_.front();
        const double parts = (kGuide - 1) / range;
        // Without a guide where all distances are one, or differ by too little to divide by.
        parts_per_unit_ = range > 0.0 && std::isfinite(parts) ? parts : 0.0;
        guide_.resize(kGuide);
        std::uint16_t level = 0;
        for (int part = 0; part < kGuide; ++part) {
            const double begin =
                value_.front() + (parts_per_unit_ > 0.0 ? part / parts_per_unit_ : 0.0);
            while (level + 1 < count() && value_[level + 1] < begin) ++level;
            // Rounding may have put the begin a little too far.
            guide_[part] = level > 0 ? level - 1 : 0;
        }
    }

    int size_;
    std::vector<double> value_;
    // By even part of what lies between the least value and the greatest, the level of its begin.
    std::vector<std::uint16_t> guide_;
    double parts_per_unit_ = 0.0;
    std::vector<std::uint16_t> level_;
};

}  // namespace plink::annealing
