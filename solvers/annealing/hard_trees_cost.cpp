#include "annealing/hard_trees_cost.hpp"

#include <algorithm>

namespace plink::annealing {

template class Annealing<HardTreesCost>;

HardTreesCost::HardTreesCost(ring::Matrix distance, std::vector<Tree> trees)
    : distance_(std::move(distance)), trees_(std::move(trees)), heights_(trees_.size()) {}

void HardTreesCost::place(const Placement& placement) {
    order_ = &placement.order();
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        trees_[tree].heights(distance_, *order_, heights_[tree]);
    }
    cost_ = greatest();
}

double HardTreesCost::greatest() const {
    double found = 0.0;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        found = std::max(found, heights_[tree][trees_[tree].root()]);
    }
    return found;
}

void HardTreesCost::follow(Swap swap) {
    before_.clear();
    for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) {
        const Tree& one = trees_[tree];
        for (const int rank : {swap.a, swap.b}) {
            if (one.is_idle(rank)) continue;
            // The way to a rank's parent is another, whatever is below the rank.
            renew(tree, rank);
            int above = one.parent(rank);
            while (above >= 0 && renew(tree, above)) above = one.parent(above);
        }
    }
}

bool HardTreesCost::renew(int tree, int rank) {
    double& height = heights_[tree][rank];
    const double now = trees_[tree].height(distance_, *order_, heights_[tree], rank);
    if (now == height) return false;
    before_.push_back({tree, rank, height});
    height = now;
    return true;
}

double HardTreesCost::exact(const std::vector<int>& order) const {
    double cost = 0.0;
    for (const Tree& tree : trees_) {
        tree.heights(distance_, order, exact_);
        cost = std::max(cost, exact_[tree.root()]);
    }
    return cost;
}

Edge HardTreesCost::worst_edge(const Placement& placement, ring::Random& random) const {
    int number = 0;
    for (int tree = 1; tree < static_cast<int>(trees_.size()); ++tree) {
        if (heights_[tree][trees_[tree].root()] > heights_[number][trees_[number].root()]) {
            number = tree;
        }
    }
    const Tree& tree = trees_[number];
    Edge chosen{tree.root(), tree.root()};
    int rank = tree.root();
    for (int seen = 1; !tree.children(rank).empty(); ++seen) {
        const double* row = distance_.row(placement.host(rank));
        int next = -1;
        double longest = -1.0;
        for (const int child : tree.children(rank)) {
            const double length = row[placement.host(child)] + heights_[number][child];
            if (length > longest) {
                longest = length;
                next = child;
            }
        }
        if (random.below(seen) == 0) chosen = {rank, next};
        rank = next;
    }
    return chosen;
}

}  // namespace plink::annealing
