#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/nearest.hpp"
#include "ring/one_tree.hpp"

namespace plink::ring {

/// Subgradient ascent on the penalties (Held, Wolfe, Crowder 1974), in slices: among few pairs, to
/// which those are added that a 1-tree among all pairs turns out to have.
class Ascent {
  public:
    /// `upper` is the cost of a ring that is known.
    Ascent(Matrix distance, double upper)
        : distance_(std::move(distance)),
          graph_(distance_.size()),
          upper_(upper),
          scale_(kFirstScale),
          penalty_(distance_.size(), 0.0),
          best_(distance_.size(), 0.0),
          proven_(distance_.size(), 0.0) {}

    /// At most `iterations` more, and none that the time does not suffice for; returns whether
    /// there is nothing more to do.
    bool run(int iterations, limits::Watch& watch) {
        try {
            if (!is_begun_) begin(watch);
            for (; iterations > 0 && !is_done_ && !watch.is_over(); --iterations) {
                const OneTree tree = minimum_one_tree(graph_, penalty_);
                const bool is_progress = tree.length > best_length_ + kLeastProgress * upper_;
                if (tree.length > best_length_) {
                    best_length_ = tree.length;
                    best_ = penalty_;
                }
                if (is_progress) {
                    stale_ = 0;
                } else if (++stale_ >= kPatience) {
                    stale_ = 0;
                    scale_ *= kShrink;
                    prove(watch);
                }
                step(tree);
                if (is_done_ || best_length_ >= upper_) prove(watch);
            }
            if (!is_done_) prove(watch);
        } catch (const limits::TimeOver&) {
        }
        return is_done_;
    }

    double bound() const { return bound_; }

    /// By city, the `by_alpha` cities of least alpha-nearness (Helsgaun 2000, §4.1: by how much
    /// the 1-tree grows when it must hold the edge) and the `by_distance` nearest, nearest first;
    /// always the parent in the 1-tree, so that no cluster is cut off from the others. Cities for
    /// which the time does not suffice have none.
    std::vector<std::vector<int>> candidates(int by_alpha, int by_distance,
                                             limits::Watch& watch) const {
        const int n = distance_.size();
        std::vector<std::vector<int>> lists(n);
        OneTree tree;
        try {
            tree = minimum_one_tree(distance_, proven_, watch);
        } catch (const limits::TimeOver&) {
            return lists;
        }
        std::vector<double> heaviest(n);
        std::vector<int> marked_by(n, -1);
        std::vector<int> others(n - 1);
        std::vector<double> alpha(n);
        for (int i = 0; i < n && !watch.is_over(); ++i) {
            const auto weight = [&](int j) { return distance_(i, j) + proven_[i] + proven_[j]; };
            if (i == 0) {
                for (int j = 1; j < n; ++j) alpha[j] = std::max(0.0, weight(j) - tree.weight[0]);
            } else {
                // The heaviest tree edge between i and j: up from i to the root, then down along
                // the order in which the tree grew.
                heaviest[i] = -kInfinity;
                marked_by[i] = i;
                for (int j = i; tree.parent[j] >= 0; j = tree.parent[j]) {
                    heaviest[tree.parent[j]] = std::max(heaviest[j], tree.weight[j]);
                    marked_by[tree.parent[j]] = i;
                }
                for (const int j : tree.order) {
                    if (marked_by[j] != i) {
                        heaviest[j] = std::max(heaviest[tree.parent[j]], tree.weight[j]);
                    }
                    alpha[j] = weight(j) - heaviest[j];
                }
                alpha[0] = std::max(0.0, weight(0) - tree.weight[0]);
            }
            others.clear();
            for (int j = 0; j < n; ++j) {
                if (j != i) others.push_back(j);
            }
            const double* row = distance_.row(i);
            // Ties go by the place after i, so that equally near cities share out the candidates
            // rather than all name the same few.
            const auto place = [i, n](int j) { return j > i ? j - i : j - i + n; };
            const auto nearer = [&](int a, int b) {
                return row[a] != row[b] ? row[a] < row[b] : place(a) < place(b);
            };
            const auto likelier = [&](int a, int b) {
                return alpha[a] != alpha[b] ? alpha[a] < alpha[b] : nearer(a, b);
            };
            const int likely = std::min(by_alpha, n - 1);
            const int near = std::min(by_distance, n - 1);
            std::vector<int>& list = lists[i];
            std::partial_sort(others.begin(), others.begin() + likely, others.end(), likelier);
            list.assign(others.begin(), others.begin() + likely);
            std::partial_sort(others.begin(), others.begin() + near, others.end(), nearer);
            list.insert(list.end(), others.begin(), others.begin() + near);
            if (tree.parent[i] >= 0) list.push_back(tree.parent[i]);
            if (i == 0) list.insert(list.end(), {tree.nearest, tree.second});
            std::sort(list.begin(), list.end(), nearer);
            list.erase(std::unique(list.begin(), list.end()), list.end());
        }
        return lists;
    }

  private:
    // Steps shrink after so many iterations without a better bound, and the ascent ends when they
    // have become too small to matter.
    static constexpr int kPatience = 20;
    static constexpr double kShrink = 0.7;
    static constexpr double kFirstScale = 2.0;
    static constexpr double kLeastScale = 1e-3;

    // A gain below this share of the known ring's cost does not count.
    static constexpr double kLeastProgress = 1e-7;

    // Steps aim this far above the known ring: towards the ring itself they come out too short on
    // matrices of racks, where the bound then ends 0.1 % lower.
    static constexpr double kAim = 1.05;

    // Volgenant and Jonker 1982: some of the last direction damps the zigzag.
    static constexpr double kMomentum = 0.3;

    // By city, the nearest pairs that the ascent begins with.
    static constexpr int kFirstPairs = 8;

    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    void begin(limits::Watch& watch) {
        const OneTree tree = minimum_one_tree(distance_, penalty_, watch);
        graph_.add(distance_, tree);
        const std::vector<std::vector<int>> near = nearest_lists(distance_, kFirstPairs, watch);
        for (int city = 0; city < distance_.size(); ++city) {
            for (const int other : near[city]) graph_.add(distance_, city, other);
        }
        bound_ = best_length_ = std::max(0.0, tree.length);
        is_begun_ = true;
    }

    void prove(limits::Watch& watch) {
        const OneTree tree = minimum_one_tree(distance_, best_, watch);
        if (tree.length > bound_) {
            bound_ = tree.length;
            proven_ = best_;
        }
        // What the graph promised was too much where it lacked a pair.
        if (graph_.add(distance_, tree)) {
            best_length_ = std::max(0.0, bound_);
            best_ = proven_;
            is_done_ = false;
        }
        is_done_ = is_done_ || bound_ >= upper_;
    }

    void step(const OneTree& tree) {
        double norm = 0.0;
        for (const int degree : tree.degree) norm += (degree - 2) * (degree - 2);
        // Every degree 2: the 1-tree is a ring, hence optimal.
        is_done_ = norm == 0.0 || scale_ < kLeastScale;
        if (is_done_) return;
        const double missing = std::max(kAim * upper_ - tree.length, (kAim - 1.0) * upper_);
        const double size = scale_ * missing / norm;
        if (previous_.empty()) previous_ = tree.degree;
        for (std::size_t i = 0; i < penalty_.size(); ++i) {
            penalty_[i] +=
                size * ((1.0 - kMomentum) * (tree.degree[i] - 2) + kMomentum * (previous_[i] - 2));
        }
        previous_ = tree.degree;
    }

    Matrix distance_;
    Graph graph_;
    double upper_;
    double bound_ = 0.0;
    double best_length_ = 0.0;  // among the pairs of the graph
    double scale_;
    int stale_ = 0;
    bool is_begun_ = false;
    bool is_done_ = false;
    std::vector<double> penalty_;
    std::vector<double> best_;
    std::vector<double> proven_;
    std::vector<int> previous_;
};

}  // namespace plink::ring
