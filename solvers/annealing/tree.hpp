#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::annealing {

using ring::Matrix;

/// A rooted tree over ranks.
class Tree {
  public:
    /// Some ranks, one after the other.
    struct Ranks {
        const int *first, *last;
        const int* begin() const { return first; }
        const int* end() const { return last; }
        bool empty() const { return first == last; }
    };

    /// `parents`: by rank; -1 for the root, -2 for a rank that is in no tree. Throws
    /// `std::invalid_argument` where they make no tree.
    explicit Tree(std::vector<int> parents)
        : parent_(std::move(parents)),
          first_(parent_.size() + 1),
          depth_(parent_.size()),
          place_(parent_.size(), -1),
          end_(parent_.size(), -1) {
        const int ranks = static_cast<int>(parent_.size());
        std::size_t members = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const int parent = parent_[rank];
            require(-2 <= parent && parent < ranks && (parent != -1 || root_ < 0));
            if (parent >= 0) ++first_[parent + 1];
            if (parent == -1) root_ = rank;
            if (parent != -2) ++members;
        }
        require(root_ >= 0);
        for (int rank = 0; rank < ranks; ++rank) first_[rank + 1] += first_[rank];
        children_.resize(first_[ranks]);
        std::vector<int> next = first_;
        for (int rank = 0; rank < ranks; ++rank) {
            if (parent_[rank] >= 0) children_[next[parent_[rank]]++] = rank;
        }
        walk();
        require(from_root_.size() == members);
    }

    int root() const { return root_; }
    int parent(int rank) const { return parent_[rank]; }
    int depth(int rank) const { return depth_[rank]; }
    Ranks children(int rank) const {
        return {children_.data() + first_[rank], children_.data() + first_[rank + 1]};
    }
    bool is_idle(int rank) const { return place_[rank] < 0; }
    /// Parents before children.
    const std::vector<int>& from_root() const { return from_root_; }
    /// Where a rank is in `from_root`; those below it follow, to `end(rank)`.
    int place(int rank) const { return place_[rank]; }
    int end(int rank) const { return end_[rank]; }
    /// Whether `rank` is on the way from the root to `other`, or is it. False of idle ones.
    bool is_above(int rank, int other) const {
        return place_[rank] >= 0 && place_[rank] <= place_[other] && place_[other] < end_[rank];
    }

    /// The greatest sum of distances from `rank` down to a leaf, with its children's known.
    double height(const Matrix& distance, const std::vector<int>& order,
                  const std::vector<double>& heights, int rank) const {
        double greatest = 0.0;
        const double* row = distance.row(order[rank]);
        for (const int child : children(rank)) {
            greatest = std::max(greatest, row[order[child]] + heights[child]);
        }
        return greatest;
    }

    /// By rank, the greatest sum of distances down to a leaf (Luo 2020, §5.2.1).
    void heights(const Matrix& distance, const std::vector<int>& order,
                 std::vector<double>& heights) const {
        heights.assign(parent_.size(), 0.0);
        for (auto rank = from_root_.rbegin(); rank != from_root_.rend(); ++rank) {
            heights[*rank] = height(distance, order, heights, *rank);
        }
    }

  private:
    static void require(bool holds) {
        if (!holds) throw std::invalid_argument("the parents make no tree");
    }

    void walk() {
        std::vector<int> open{root_};
        while (!open.empty()) {
            const int rank = open.back();
            open.pop_back();
            place_[rank] = static_cast<int>(from_root_.size());
            from_root_.push_back(rank);
            for (const int child : children(rank)) {
                depth_[child] = depth_[rank] + 1;
                open.push_back(child);
            }
        }
        for (auto rank = from_root_.rbegin(); rank != from_root_.rend(); ++rank) {
            end_[*rank] = std::max(end_[*rank], place_[*rank] + 1);
            const int above = parent_[*rank];
            if (above >= 0) end_[above] = std::max(end_[above], end_[*rank]);
        }
    }

    int root_ = -1;
    std::vector<int> parent_;
    std::vector<int> first_;     // by rank, where its children begin
    std::vector<int> children_;  // of all ranks
    std::vector<int> depth_;
    std::vector<int> from_root_;
    std::vector<int> place_;
    std::vector<int> end_;
};

/// The greatest sum of distances from a root to a leaf of any of the trees (Luo 2020, §5.2.1).
inline double longest_path(const std::vector<Tree>& trees, const Matrix& distance,
                           const std::vector<int>& order, std::vector<double>& heights) {
    double longest = 0.0;
    for (const Tree& tree : trees) {
        tree.heights(distance, order, heights);
        longest = std::max(longest, heights[tree.root()]);
    }
    return longest;
}

}  // namespace plink::annealing
