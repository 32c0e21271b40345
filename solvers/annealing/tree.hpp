#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"

namespace plink::annealing {

using ring::Matrix;

/// A rooted tree over ranks.
class Tree {
  public:
    /// `parents`: by rank; -1 for the root, -2 for a rank that is in no tree.
    explicit Tree(std::vector<int> parents)
        : parent_(std::move(parents)), children_(parent_.size()), depth_(parent_.size()) {
        for (int rank = 0; rank < static_cast<int>(parent_.size()); ++rank) {
            if (parent_[rank] >= 0) {
                children_[parent_[rank]].push_back(rank);
            } else if (parent_[rank] == -1) {
                root_ = rank;
            }
        }
        from_root_.push_back(root_);
        for (std::size_t i = 0; i < from_root_.size(); ++i) {
            for (const int child : children_[from_root_[i]]) {
                depth_[child] = depth_[from_root_[i]] + 1;
                from_root_.push_back(child);
            }
        }
    }

    int root() const { return root_; }
    int parent(int rank) const { return parent_[rank]; }
    int depth(int rank) const { return depth_[rank]; }
    const std::vector<int>& children(int rank) const { return children_[rank]; }
    /// Parents before children. Fewer than have parents where these make no tree.
    const std::vector<int>& from_root() const { return from_root_; }

    /// The greatest sum of distances from `rank` down to a leaf, with its children's known.
    double height(const Matrix& distance, const std::vector<int>& order,
                  const std::vector<double>& heights, int rank) const {
        double greatest = 0.0;
        const double* row = distance.row(order[rank]);
        for (const int child : children_[rank]) {
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
    int root_ = -1;
    std::vector<int> parent_;
    std::vector<std::vector<int>> children_;
    std::vector<int> depth_;
    std::vector<int> from_root_;
};

}  // namespace plink::annealing
