#include "trees/annealing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plink::trees {

namespace {

// Of each kind of move, in sixteenths; the others swap two random ranks.
constexpr int kTargets = 8;
constexpr int kNear = 4;
constexpr int kNearest = 16;

}  // namespace

Annealing::Annealing(Matrix distance, std::vector<Tree> trees, std::vector<int> order,
                     std::uint64_t seed)
    : distance_(std::move(distance)),
      trees_(std::move(trees)),
      random_(seed),
      ranks_(distance_.size()),
      near_count_(std::min(kNearest, ranks_ - 1)),
      rank_of_(ranks_),
      height_(trees_.size()),
      best_(order) {
    std::vector<int> hosts;
    for (int host = 0; host < ranks_; ++host) {
        hosts.resize(ranks_);
        std::iota(hosts.begin(), hosts.end(), 0);
        hosts.erase(hosts.begin() + host);
        const double* row = distance_.row(host);
        std::partial_sort(hosts.begin(), hosts.begin() + near_count_, hosts.end(),
                          [row](int x, int y) { return row[x] < row[y]; });
        near_.insert(near_.end(), hosts.begin(), hosts.begin() + near_count_);
    }
    restart(order);
    best_cost_ = current_cost();
}

void Annealing::restart(const std::vector<int>& order) {
    order_ = order;
    for (int rank = 0; rank < ranks_; ++rank) rank_of_[order_[rank]] = rank;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        trees_[tree].heights(distance_, order_, height_[tree]);
    }
}

double Annealing::current_cost() const {
    double cost = 0.0;
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        cost = std::max(cost, height_[tree][trees_[tree].root()]);
    }
    return cost;
}

void Annealing::run(long moves, double temperature) {
    double cost = current_cost();
    for (; moves > 0; --moves) {
        const Swap swap = propose();
        if (swap.a == swap.b) continue;
        exchange(swap);
        journal_.clear();
        for (int tree = 0; tree < static_cast<int>(trees_.size()); ++tree) update(tree, swap);
        const double changed = current_cost();
        if (changed > cost && changed - cost >= temperature * random_.exponential()) {
            exchange(swap);
            for (auto one = journal_.rbegin(); one != journal_.rend(); ++one) {
                height_[one->tree][one->rank] = one->before;
            }
            continue;
        }
        cost = changed;
        if (cost < best_cost_) {
            best_ = order_;
            best_cost_ = cost;
        }
    }
}

void Annealing::exchange(Swap swap) {
    std::swap(order_[swap.a], order_[swap.b]);
    rank_of_[order_[swap.a]] = swap.a;
    rank_of_[order_[swap.b]] = swap.b;
}

void Annealing::update(int tree, Swap swap) {
    // Up from both ranks, the deeper one first, until heights no longer change. The parent of a
    // swapped rank looks again in any case: the distance to its child is another.
    const Tree& one = trees_[tree];
    int low = swap.a;
    int high = swap.b;
    while (low >= 0) {
        if (high >= 0 && one.depth(high) > one.depth(low)) std::swap(low, high);
        if (low == high) high = -1;
        const bool is_swapped = low == swap.a || low == swap.b;
        const bool has_changed = refresh(tree, low);
        low = has_changed || is_swapped ? one.parent(low) : -1;
        if (low < 0) std::swap(low, high);
    }
}

bool Annealing::refresh(int tree, int rank) {
    double& height = height_[tree][rank];
    const double now = trees_[tree].height(distance_, order_, height_[tree], rank);
    if (now == height) return false;
    journal_.push_back({tree, rank, height});
    height = now;
    return true;
}

Annealing::Swap Annealing::propose() {
    const int kind = random_.below(16);
    if (kind < kTargets) return target();
    const int a = random_.below(ranks_);
    if (kind < kTargets + kNear) return {a, rank_of_[near(order_[a])]};
    return {a, random_.below(ranks_)};
}

Annealing::Swap Annealing::target() {
    std::size_t worst = 0;
    for (std::size_t tree = 1; tree < trees_.size(); ++tree) {
        if (height_[tree][trees_[tree].root()] > height_[worst][trees_[worst].root()]) worst = tree;
    }
    const Tree& tree = trees_[worst];
    const std::vector<double>& heights = height_[worst];
    path_.assign(1, tree.root());
    while (!tree.children(path_.back()).empty()) {
        const double* row = distance_.row(order_[path_.back()]);
        const auto& children = tree.children(path_.back());
        path_.push_back(*std::max_element(children.begin(), children.end(), [&](int x, int y) {
            return row[order_[x]] + heights[x] < row[order_[y]] + heights[y];
        }));
    }
    const int edge = random_.below(static_cast<int>(path_.size()) - 1);
    int a = path_[edge];
    int stays = path_[edge + 1];
    const std::uint64_t bits = random_.next();
    if (bits & 1) std::swap(a, stays);
    const int b = bits & 2 ? rank_of_[near(order_[stays])] : random_.below(ranks_);
    return b == stays ? Swap{a, a} : Swap{a, b};
}

}  // namespace plink::trees
