#include "rooted.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plink::engine {

namespace {

// Of a forest without a route to some root.
constexpr std::size_t kMostTurned = 8;

/// Trees as a forest takes them.
class Trees {
  public:
    explicit Trees(const Forest& forest) : from_(forest) {}

    /// The route, turned round to `root`; returns its number here.
    std::uint32_t add(int route, int root) {
        weights_.push_back(from_.weights()[route]);
        for (const bool is_reduce : {true, false}) {
            std::vector<std::int32_t>& all = is_reduce ? reduce_ : broadcast_;
            const std::size_t first = all.size();
            for (int rank = 0; rank < from_.ranks(); ++rank) {
                all.push_back(is_reduce ? from_.reduce_parent(route, rank)
                                        : from_.broadcast_parent(route, rank));
            }
            turn(&all[first], root);
        }
        return static_cast<std::uint32_t>(weights_.size() - 1);
    }

    Forest forest() && {
        return Forest(from_.ranks(), std::move(weights_), std::move(reduce_),
                      std::move(broadcast_));
    }

  private:
    /// Reverses the path from the old root to the new one.
    static void turn(std::int32_t* parent, std::int32_t root) {
        std::int32_t below = -1;
        for (std::int32_t at = root; at >= 0;) {
            const std::int32_t above = parent[at];
            parent[at] = below;
            below = at;
            at = above;
        }
    }

    const Forest& from_;
    std::vector<double> weights_;
    std::vector<std::int32_t> reduce_;
    std::vector<std::int32_t> broadcast_;
};

std::vector<int> used_routes(const Forest& forest) {
    std::vector<int> used;
    for (int route = 0; route < forest.routes(); ++route) {
        if (forest.weights()[route] > 0.0) used.push_back(route);
    }
    return used;
}

/// By weight, ties to the lower number.
std::vector<int> heaviest_routes(const Forest& forest) {
    std::vector<int> heaviest = used_routes(forest);
    std::stable_sort(heaviest.begin(), heaviest.end(),
                     [&](int a, int b) { return forest.weights()[a] > forest.weights()[b]; });
    heaviest.resize(std::min(heaviest.size(), kMostTurned));
    return heaviest;
}

Rooted rooted_at_these(const Forest& forest, const std::vector<int>& roots) {
    std::vector<std::vector<int>> of_root(forest.ranks());
    for (const int route : used_routes(forest)) of_root[forest.root(route)].push_back(route);
    const std::vector<int> others = heaviest_routes(forest);
    Trees trees(forest);
    std::vector<std::vector<std::uint32_t>> routes;
    for (const int root : roots) {
        routes.emplace_back();
        for (const int route : of_root[root].empty() ? others : of_root[root]) {
            routes.back().push_back(trees.add(route, root));
        }
    }
    return {std::move(trees).forest(), std::move(routes)};
}

}  // namespace

Rooted as_planned(const Forest& forest) {
    std::vector<std::uint32_t> all(forest.routes());
    std::iota(all.begin(), all.end(), 0U);
    return {forest, {std::move(all)}};
}

Rooted rooted_at_each(const Forest& forest) {
    std::vector<int> roots(forest.ranks());
    std::iota(roots.begin(), roots.end(), 0);
    return rooted_at_these(forest, roots);
}

Rooted rooted_at(const Forest& forest, int root) { return rooted_at_these(forest, {root}); }

Rooted spread_from(const Forest& forest, int root) {
    Trees trees(forest);
    std::vector<std::uint32_t> routes;
    for (const int route : used_routes(forest)) routes.push_back(trees.add(route, root));
    return {std::move(trees).forest(), {std::move(routes)}};
}

}  // namespace plink::engine
