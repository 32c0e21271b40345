#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::orders {

enum class Linkage { kAverage, kSingle };

/// Two clusters that are joined: a leaf of each, and how far apart they are.
struct Merge {
    int one, other;
    double height;
};

/// A tree of clusters.
struct Dendrogram {
    std::vector<int> leaves;    // as the branches are joined
    std::vector<Merge> merges;  // as they are found, which is not by height
};

/// Distances between clusters, of which fewer and fewer are left.
class Clusters {
  public:
    Clusters(const ring::Matrix& distance, limits::Watch& watch)
        : size_(distance.size()),
          between_(static_cast<std::size_t>(size_) * size_),
          leaves_(size_) {
        for (int i = 0; i < size_; ++i) {
            watch.throw_if_over();
            std::copy(distance.row(i), distance.row(i) + size_, row(i));
            row(i)[i] = kInfinity;
            leaves_[i] = {i};
        }
    }

    int size() const { return size_; }
    double between(int a, int b) const { return between_[static_cast<std::size_t>(a) * size_ + b]; }
    bool is_left(int cluster) const { return !leaves_[cluster].empty(); }

    int nearest(int cluster) const {
        const double* from = between_.data() + static_cast<std::size_t>(cluster) * size_;
        return static_cast<int>(std::min_element(from, from + size_) - from);
    }

    /// The second becomes a part of the first.
    void join(int one, int other, Linkage linkage) {
        const auto weight = static_cast<double>(leaves_[one].size());
        const auto other_weight = static_cast<double>(leaves_[other].size());
        double* to = row(one);
        double* from = row(other);
        for (int i = 0; i < size_; ++i) {
            to[i] = linkage == Linkage::kSingle
                        ? std::min(to[i], from[i])
                        : (to[i] * weight + from[i] * other_weight) / (weight + other_weight);
            from[i] = kInfinity;
        }
        to[one] = to[other] = kInfinity;
        for (int i = 0; i < size_; ++i) {
            row(i)[one] = to[i];
            row(i)[other] = kInfinity;
        }
        leaves_[one].insert(leaves_[one].end(), leaves_[other].begin(), leaves_[other].end());
        leaves_[other].clear();
    }

    std::vector<int> take_leaves(int cluster) { return std::move(leaves_[cluster]); }

  private:
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    double* row(int i) { return between_.data() + static_cast<std::size_t>(i) * size_; }

    int size_;
    std::vector<double> between_;
    std::vector<std::vector<int>> leaves_;
};

/// By chains of nearest neighbours (Murtagh 1983). Throws `limits::TimeOver`.
inline Dendrogram dendrogram(const ring::Matrix& distance, Linkage linkage, limits::Watch& watch) {
    Dendrogram found;
    Clusters clusters(distance, watch);
    std::vector<int> chain;
    int first = 0;
    for (int left = clusters.size(); left > 1; --left) {
        watch.throw_if_over();
        if (chain.empty()) {
            while (!clusters.is_left(first)) ++first;
            chain.push_back(first);
        }
        while (true) {
            const int last = chain.back();
            const int nearest = clusters.nearest(last);
            if (chain.size() > 1 && clusters.between(last, chain[chain.size() - 2]) <=
                                        clusters.between(last, nearest)) {
                break;
            }
            chain.push_back(nearest);
        }
        const int one = chain.back();
        chain.pop_back();
        const int other = chain.back();
        chain.pop_back();
        found.merges.push_back({one, other, clusters.between(one, other)});
        clusters.join(one, other, linkage);
    }
    while (!clusters.is_left(first)) ++first;
    found.leaves = clusters.take_leaves(first);
    return found;
}

}  // namespace plink::orders
