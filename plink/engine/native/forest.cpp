#include "forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

#include "bytes.hpp"
#include "transport.hpp"

namespace plink::engine {

namespace {

/// The root of the tree that `parent` (by rank) describes.
int checked_root(const std::int32_t* parent, int ranks, const std::string& what) {
    int root = -1;
    for (int rank = 0; rank < ranks; ++rank) {
        if (parent[rank] == -1) {
            if (root >= 0) throw std::invalid_argument(what + " has two roots");
            root = rank;
        } else if (parent[rank] < 0 || parent[rank] >= ranks) {
            throw std::invalid_argument(what + " has a parent that is not a rank");
        }
    }
    if (root < 0) throw std::invalid_argument(what + " has no root");
    enum : char { kNew, kOnTheWay, kReachesRoot };
    std::vector<char> state(ranks, kNew);
    state[root] = kReachesRoot;
    for (int rank = 0; rank < ranks; ++rank) {
        int at = rank;
        while (state[at] == kNew) {
            state[at] = kOnTheWay;
            at = parent[at];
        }
        if (state[at] == kOnTheWay) throw std::invalid_argument(what + " has a cycle");
        for (at = rank; state[at] == kOnTheWay; at = parent[at]) state[at] = kReachesRoot;
    }
    return root;
}

/// By rank, how many hops it is from the root.
template <typename ParentOf>
std::vector<std::uint32_t> depths(const ParentOf& parent_of, int ranks) {
    constexpr std::uint32_t kUnknown = UINT32_MAX;
    std::vector<std::uint32_t> depth(ranks, kUnknown);
    std::vector<int> way;
    for (int rank = 0; rank < ranks; ++rank) {
        int at = rank;
        for (; at >= 0 && depth[at] == kUnknown; at = parent_of(at)) way.push_back(at);
        std::uint32_t next = at < 0 ? 0 : depth[at] + 1;
        for (; !way.empty(); way.pop_back()) depth[way.back()] = next++;
    }
    return depth;
}

/// By rank, how many hops it is to the farthest of those below.
template <typename ParentOf>
std::vector<std::uint32_t> heights(const ParentOf& parent_of,
                                   const std::vector<std::uint32_t>& depth) {
    // The deepest first: by counting, for there may be thousands of ranks and routes.
    std::vector<std::size_t> begins(depth.size() + 1);
    for (const std::uint32_t of_rank : depth) ++begins[depth.size() - of_rank];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<int> deepest_first(depth.size());
    for (std::size_t rank = 0; rank < depth.size(); ++rank) {
        deepest_first[begins[depth.size() - depth[rank] - 1]++] = static_cast<int>(rank);
    }
    std::vector<std::uint32_t> height(depth.size());
    for (const int rank : deepest_first) {
        const int parent = parent_of(rank);
        if (parent >= 0) height[parent] = std::max(height[parent], height[rank] + 1);
    }
    return height;
}

}  // namespace

Forest::Forest(int ranks, std::vector<double> weights, std::vector<std::int32_t> reduce_parents,
               std::vector<std::int32_t> broadcast_parents)
    : ranks_(ranks),
      weights_(std::move(weights)),
      reduce_(std::move(reduce_parents)),
      broadcast_(std::move(broadcast_parents)) {
    if (ranks < 1) throw std::invalid_argument("a forest needs a rank");
    const std::size_t places = weights_.size() * ranks;
    if (reduce_.size() != places || broadcast_.size() != places) {
        throw std::invalid_argument("the parents do not fit the weights and ranks");
    }
    double sum = 0.0;
    for (const double weight : weights_) {
        if (!(weight >= 0.0) || !std::isfinite(weight)) {
            throw std::invalid_argument("a route's weight is negative or not finite");
        }
        sum += weight;
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) {
        throw std::invalid_argument("the weights of the routes have no positive, finite sum");
    }
    for (int route = 0; route < routes(); ++route) {
        const std::string name = " tree of route " + std::to_string(route);
        const int root = checked_root(&reduce_[at(route, 0)], ranks, "the reduce" + name);
        if (checked_root(&broadcast_[at(route, 0)], ranks, "the broadcast" + name) != root) {
            throw std::invalid_argument("the trees of route " + std::to_string(route) +
                                        " have different roots");
        }
        roots_.push_back(root);
    }
}

std::uint64_t Forest::digest() const {
    std::uint64_t hash = mixed(kHashStart, &ranks_, sizeof(ranks_));
    hash = mixed(hash, weights_.data(), weights_.size() * sizeof(double));
    hash = mixed(hash, reduce_.data(), reduce_.size() * sizeof(std::int32_t));
    return mixed(hash, broadcast_.data(), broadcast_.size() * sizeof(std::int32_t));
}

Places::Places(const Forest& forest, int rank) {
    for (int route = 0; route < forest.routes(); ++route) {
        Place place{forest.reduce_parent(route, rank),
                    forest.broadcast_parent(route, rank),
                    {},
                    {},
                    0,
                    0,
                    {}};
        for (int other = 0; other < forest.ranks(); ++other) {
            if (forest.reduce_parent(route, other) == rank) place.reduce_children.push_back(other);
            if (forest.broadcast_parent(route, other) == rank) {
                place.broadcast_children.push_back(other);
            }
        }
        const auto up = [&](int of) { return forest.reduce_parent(route, of); };
        const auto down = [&](int of) { return forest.broadcast_parent(route, of); };
        place.hops_to_root = depths(up, forest.ranks())[rank];
        const std::vector<std::uint32_t> height = heights(down, depths(down, forest.ranks()));
        place.hops_from_root = height[forest.root(route)];
        for (const int child : place.broadcast_children) {
            place.hops_by_child.push_back(height[child] + 1);
        }
        most_children_ = std::max(most_children_, static_cast<int>(place.reduce_children.size()));
        places_.push_back(std::move(place));
    }
}

std::uint32_t Places::Place::hops_by(int child) const {
    const auto found =
        std::lower_bound(broadcast_children.begin(), broadcast_children.end(), child);
    return hops_by_child[static_cast<std::size_t>(found - broadcast_children.begin())];
}

int Places::child_index(int route, int child) const {
    const std::vector<int>& children = places_[route].reduce_children;
    const auto found = std::lower_bound(children.begin(), children.end(), child);
    return found != children.end() && *found == child ? static_cast<int>(found - children.begin())
                                                      : -1;
}

}  // namespace plink::engine
