#include "annealing/trees_cost.hpp"

#include <algorithm>
#include <utility>

namespace plink::annealing {

template class Annealing<TreesCost>;

TreesCost::TreesCost(ring::Matrix distance, std::vector<Tree> trees)
    : distance_(std::move(distance)), trees_(std::move(trees)), height_(trees_.size()) {}

void TreesCost::place(const Placement& placement) {
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        trees_[tree].heights(distance_, placement.order(), height_[tree]);
    }
}

double TreesCost::current() const {
    double cost = 0.0;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        cost = std::max(cost, height_[tree][trees_[tree].root()]);
    }
    return cost;
}

void TreesCost::apply(Swap swap, Placement& placement) {
    placement.exchange(swap);
    journal_.clear();
    for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) {
        update(tree, swap, placement);
    }
}

void TreesCost::undo(Swap swap, Placement& placement) {
    placement.exchange(swap);
    for (auto one = journal_.rbegin(); one != journal_.rend(); ++one) {
        height_[one->tree][one->rank] = one->before;
    }
}

void TreesCost::update(int tree, Swap swap, const Placement& placement) {
    // Up from both ranks, the deeper one first, until heights no longer change. The parent of a
    // swapped rank looks again in any case: the distance to its child is another.
    const Tree& one = trees_[tree];
    int low = swap.a;
    int high = swap.b;
    while (low >= 0) {
        if (high >= 0 && one.depth(high) > one.depth(low)) std::swap(low, high);
        if (low == high) high = -1;
        const bool is_swapped = low == swap.a || low == swap.b;
        const bool has_changed = refresh(tree, low, placement);
        low = has_changed || is_swapped ? one.parent(low) : -1;
        if (low < 0) std::swap(low, high);
    }
}

bool TreesCost::refresh(int tree, int rank, const Placement& placement) {
    double& height = height_[tree][rank];
    const double now = trees_[tree].height(distance_, placement.order(), height_[tree], rank);
    if (now == height) return false;
    journal_.push_back({tree, rank, height});
    height = now;
    return true;
}

Edge TreesCost::worst_edge(const Placement& placement, ring::Random& random) {
    std::size_t worst = 0;
    for (std::size_t tree = 1; tree < trees_.size(); ++tree) {
        if (height_[tree][trees_[tree].root()] > height_[worst][trees_[worst].root()]) worst = tree;
    }
    const Tree& tree = trees_[worst];
    const std::vector<double>& heights = height_[worst];
    path_.assign(1, tree.root());
    while (!tree.children(path_.back()).empty()) {
        const double* row = distance_.row(placement.host(path_.back()));
        const auto& children = tree.children(path_.back());
        path_.push_back(*std::max_element(children.begin(), children.end(), [&](int x, int y) {
            return row[placement.host(x)] + heights[x] < row[placement.host(y)] + heights[y];
        }));
    }
    const int edge = random.below(static_cast<int>(path_.size()) - 1);
    return {path_[edge], path_[edge + 1]};
}

}  // namespace plink::annealing
