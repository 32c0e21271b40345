#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "annealing/annealing.hpp"
#include "annealing/levels.hpp"
#include "annealing/tree.hpp"
#include "limits/deadline.hpp"
#include "ring/matrix.hpp"
#include "ring/random.hpp"

namespace plink::annealing {

/// The cost of trees, the greatest sum of distances from a root to a leaf, as a smoothed maximum:
/// s log sum exp(length / s) over all paths of all trees, with a softness s that the caller lowers.
/// At least one tree.
class TreesCost {
  public:
    static constexpr int kTargets = 8;
    static constexpr int kNear = 4;

    /// Throws `limits::TimeOver`.
    TreesCost(ring::Matrix distance, std::vector<Tree> trees, limits::Watch& watch)
        : distance_(std::move(distance)),
          trees_(std::move(trees)),
          levels_(distance_, watch),
          share_(levels_.count()),
          down_(trees_.size(), std::vector<double>(distance_.size())),
          up_(down_) {}

    const ring::Matrix& distance() const { return distance_; }
    void place(const Placement& placement) { order_ = &placement.order(); }

    void heat(const Heat& heat) {
        heat_ = heat;
        heat_.softness = std::max(heat_.softness, current() / kMostExponent);
        for (int level = 0; level < levels_.count(); ++level) {
            share_[level] = std::exp(levels_.value(level) / heat_.softness);
        }
        sum_up();
    }

    /// One of a long path, from a parent to its child: the longer, the likelier.
    Edge worst_edge(const Placement&, ring::Random& random) const {
        const int number = random.below(static_cast<int>(trees_.size()));
        const Tree& tree = trees_[number];
        if (tree.from_root().size() < 2) return {tree.root(), tree.root()};
        const std::vector<double>& down = down_[number];
        const std::vector<int>& ranks = tree.from_root();
        const std::vector<double>& up = up_[number];
        int worst = -1;
        for (int i = 0; i < kContenders; ++i) {
            // The root, which is the first, has no edge up.
            const int rank = ranks[1 + random.below(static_cast<int>(ranks.size()) - 1)];
            if (worst < 0 || up[rank] * down[rank] > up[worst] * down[worst]) worst = rank;
        }
        return {tree.parent(worst), worst};
    }

    template <class Accepts>
    void attempt(Swap swap, Placement& placement, const Accepts& accepts) {
        const double after = sum_after(swap);
        if (after > kLeastShare * sum_) {
            if (accepts(change_to(after))) {
                placement.exchange(swap);
                update(swap);
            }
            return;
        }
        // The digits do not suffice.
        const double before = sum_;
        placement.exchange(swap);
        update(swap);
        if (accepts(heat_.softness * std::log(sum_ / before))) return;
        placement.exchange(swap);
        update(swap);
    }

    /// By the greatest sum itself.
    double current() const { return exact(*order_); }
    double exact(const std::vector<int>& order) const {
        return longest_path(trees_, distance_, order, heights_);
    }

    /// Few ranks leave time to look at every order.
    static long moves_per_look(int ranks) { return ranks <= kFew ? 1 : kLookPerRank * ranks; }

  private:
    // The sum over all paths of exponentials of no more than this is finite. A swap may make it
    // infinite, and is then refused.
    static constexpr double kMostExponent = 600.0;

    // A target is the edge with the longest paths among so many random ones.
    static constexpr int kContenders = 8;

    static constexpr int kFew = 32;
    static constexpr long kLookPerRank = 4;

    // A sum that would fall below this share is not told from what it loses.
    static constexpr double kLeastShare = 1e-4;

    double change_to(double sum) const { return heat_.softness * std::log(sum / sum_); }
    double share(int a, int b) const { return share_[levels_.row(a)[b]]; }
    void sum_up() {
        sum_ = 0.0;
        for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) {
            const Tree& one = trees_[tree];
            const std::vector<int>& ranks = one.from_root();
            for (auto rank = ranks.rbegin(); rank != ranks.rend(); ++rank) {
                down_[tree][*rank] = summed(tree, *rank, (*order_)[*rank]);
            }
            sum_down(tree, one.root());
            sum_ += down_[tree][one.root()];
        }
    }

    void sum_down(int tree, int rank) {
        const Tree& one = trees_[tree];
        const std::vector<int>& ranks = one.from_root();
        double* up = up_[tree].data();
        for (int place = one.place(rank); place < one.end(rank); ++place) {
            const int below = ranks[place];
            const int above = one.parent(below);
            up[below] = above < 0 ? 1.0 : up[above] * share((*order_)[above], (*order_)[below]);
        }
    }

    double sum_after(Swap swap) const {
        const int host_a = (*order_)[swap.a];
        const int host_b = (*order_)[swap.b];
        double sum = sum_;
        for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) {
            const Tree& one = trees_[tree];
            if (one.is_above(swap.b, swap.a)) {
                sum += gain_in_line(tree, swap.a, swap.b);
            } else if (one.is_above(swap.a, swap.b)) {
                sum += gain_in_line(tree, swap.b, swap.a);
            } else {
                if (!one.is_idle(swap.a))
                    sum += gain(tree, swap.a, host_b, summed(tree, swap.a, host_b));
                if (!one.is_idle(swap.b))
                    sum += gain(tree, swap.b, host_a, summed(tree, swap.b, host_a));
            }
        }
        return sum;
    }

    double gain(int tree, int rank, int host, double down) const {
        const int above = trees_[tree].parent(rank);
        const double up = above < 0 ? 1.0 : up_[tree][above] * share((*order_)[above], host);
        return up * down - up_[tree][rank] * down_[tree][rank];
    }

    double gain_in_line(int tree, int low, int high) const {
        const Tree& one = trees_[tree];
        const int host_of_low = (*order_)[high];
        const int host_of_high = (*order_)[low];
        // From the lower rank up to the higher one, what is below each when the hosts have changed.
        int rank = low;
        int host = host_of_low;
        double down = summed(tree, low, host_of_low);
        while (rank != high) {
            const int above = one.parent(rank);
            const int host_above = above == high ? host_of_high : (*order_)[above];
            const std::uint16_t* row = levels_.row(host_above);
            double sum = share_[row[host]] * down;
            for (const int child : one.children(above)) {
                if (child != rank) sum += share_[row[(*order_)[child]]] * down_[tree][child];
            }
            rank = above;
            host = host_above;
            down = sum;
        }
        return gain(tree, high, host_of_high, down);
    }

    double summed(int tree, int rank, int host) const {
        const Tree::Ranks children = trees_[tree].children(rank);
        if (children.empty()) return 1.0;
        const std::uint16_t* row = levels_.row(host);
        const double* down = down_[tree].data();
        double sum = 0.0;
        for (const int child : children) sum += share_[row[(*order_)[child]]] * down[child];
        return sum;
    }

    void update(Swap swap) {
        sum_ = 0.0;
        for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) {
            // Up from both ranks, the deeper one first, until they meet.
            const Tree& one = trees_[tree];
            int low = one.is_idle(swap.a) ? -1 : swap.a;
            int high = one.is_idle(swap.b) ? -1 : swap.b;
            while (low >= 0 || high >= 0) {
                if (low < 0 || (high >= 0 && one.depth(high) > one.depth(low)))
                    std::swap(low, high);
                if (low == high) high = -1;
                down_[tree][low] = summed(tree, low, (*order_)[low]);
                low = one.parent(low);
            }
            for (const int rank : {swap.a, swap.b}) {
                if (!one.is_idle(rank)) sum_down(tree, rank);
            }
            sum_ += down_[tree][one.root()];
        }
    }

    ring::Matrix distance_;
    std::vector<Tree> trees_;
    Levels levels_;
    const std::vector<int>* order_ = nullptr;

    Heat heat_{1.0, 1.0};
    std::vector<double> share_;              // by level, exp(distance / softness)
    std::vector<std::vector<double>> down_;  // by tree and rank, of its paths down to leaves
    std::vector<std::vector<double>> up_;    // by tree and rank, of the path from the root
    double sum_ = 1.0;                       // of all trees
    mutable std::vector<double> heights_;
};

}  // namespace plink::annealing
