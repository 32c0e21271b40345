#include "annealing/levels.hpp"

#include <algorithm>

namespace plink::annealing {

namespace {

// A table of so many floats stays in the first-level cache.
constexpr int kMost = 4096;
constexpr int kFine = 3072;

// Of the pairs, those above the fine steps: an outlier must not make all steps coarse.
constexpr double kCoarseShare = 0.02;

}  // namespace

Levels::Levels(const ring::Matrix& distance)
    : size_(distance.size()), level_(static_cast<std::size_t>(distance.size()) * distance.size()) {
    std::vector<double> sorted;
    sorted.reserve(level_.size() / 2);
    for (int i = 0; i < size_; ++i) {
        sorted.insert(sorted.end(), distance.row(i) + i + 1, distance.row(i) + size_);
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
    for (int i = 0; i < size_; ++i) {
        for (int j = i + 1; j < size_; ++j) {
            const std::uint16_t level = below(distance(i, j));
            level_[static_cast<std::size_t>(i) * size_ + j] = level;
            level_[static_cast<std::size_t>(j) * size_ + i] = level;
        }
    }
}

std::uint16_t Levels::below(double distance) const {
    const auto above = std::upper_bound(value_.begin(), value_.end(), distance);
    return static_cast<std::uint16_t>(std::max<std::ptrdiff_t>(above - value_.begin() - 1, 0));
}

}  // namespace plink::annealing
