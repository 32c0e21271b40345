#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

// The bound's time goes into two passes over rows. Where the processor has wider registers than
// the least of its kind, they run several times as fast; the results are the same.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__)
#define PLINK_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PLINK_WIDE
#endif

namespace plink::ring {

/// A minimum 1-tree (Held and Karp 1970): a minimum spanning tree of the cities 1 ... N-1 and the
/// two shortest edges of city 0, under weights d(i, j) + penalty(i) + penalty(j).
struct OneTree {
    double length = 0.0;         ///< less twice the sum of penalties: at most any ring's cost
    std::vector<int> order;      ///< cities 1 ... N-1 as the tree grew: parents before children
    std::vector<int> parent;     ///< in the tree, by city; -1 for the root and for city 0
    std::vector<double> weight;  ///< of the edge to the parent, by city
    std::vector<int> degree;     ///< by city
    int nearest = -1;            ///< city 0's two ends
    int second = -1;
};

// Cities that join a tree between two looks at the clock.
inline constexpr int kBetweenLooks = 64;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// City `last` joined the tree: its edges to cities outside may be lighter than those known.
PLINK_WIDE static void relax(int n, const double* row, double own_fee, std::int64_t last,
                             const double* fee, double* key, std::int64_t* from) {
    for (int j = 0; j < n; ++j) {
        const double weight = row[j] + fee[j] + own_fee;
        const bool is_lighter = weight < key[j];
        key[j] = is_lighter ? weight : key[j];
        from[j] = is_lighter ? last : from[j];
    }
}

PLINK_WIDE static double smallest(int n, const double* key) {
    constexpr int kLanes = 8;
    double least[kLanes];
    std::fill(least, least + kLanes, kInfinity);
    int j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            least[lane] = key[j + lane] < least[lane] ? key[j + lane] : least[lane];
        }
    }
    for (; j < n; ++j) least[0] = std::min(least[0], key[j]);
    return *std::min_element(least, least + kLanes);
}

/// A 1-tree that has no edge yet.
inline OneTree seedling(int size) {
    OneTree tree;
    tree.parent.assign(size, -1);
    tree.weight.assign(size, 0.0);
    tree.degree.assign(size, 0);
    tree.order.reserve(size - 1);
    return tree;
}

/// City 0's two lightest edges.
struct Ends {
    int first = -1, second = -1;
    double first_weight = kInfinity, second_weight = kInfinity;

    void look(int city, double weight) {
        if (weight < first_weight) {
            second = std::exchange(first, city);
            second_weight = std::exchange(first_weight, weight);
        } else if (weight < second_weight) {
            second = city;
            second_weight = weight;
        }
    }

    void join(OneTree& tree) const {
        tree.nearest = first;
        tree.second = second;
        tree.weight[0] = second_weight;
        tree.degree[0] = 2;
        ++tree.degree[first];
        ++tree.degree[second];
        tree.length += first_weight + second_weight;
    }
};

inline double rounding(const Matrix& distance, const std::vector<double>& penalty,
                       const OneTree& tree) {
    const int n = distance.size();
    double magnitude = 0.0;
    double greatest = distance.greatest();
    for (int i = 0; i < n; ++i) {
        magnitude += 2.0 * std::abs(penalty[i]) + std::abs(tree.weight[i]);
        greatest = std::max(greatest, 2.0 * std::abs(penalty[i]));
    }
    return 4.0 * n * std::numeric_limits<double>::epsilon() * (magnitude + 2.0 * greatest);
}

/// For at least 3 cities. Rounding is subtracted, so that `length` is a bound also in floating
/// point. Throws `limits::TimeOver`.
inline OneTree minimum_one_tree(const Matrix& distance, const std::vector<double>& penalty,
                                limits::Watch& watch) {
    const int n = distance.size();
    OneTree tree = seedling(n);

    // Prim on the dense matrix. A city in the tree has an infinite entry fee, so that the passes
    // over a row need no test.
    std::vector<double> fee(penalty);
    fee[0] = fee[1] = kInfinity;
    std::vector<double> key(n, kInfinity);
    std::vector<std::int64_t> from(n, -1);
    int last = 1;
    tree.order.push_back(1);
    for (int left = n - 2; left > 0; --left) {
        if (left % kBetweenLooks == 0) watch.throw_if_over();
        relax(n, distance.row(last), penalty[last], last, fee.data(), key.data(), from.data());
        const double least = smallest(n, key.data());
        last = static_cast<int>(std::find(key.begin(), key.end(), least) - key.begin());
        tree.order.push_back(last);
        tree.parent[last] = static_cast<int>(from[last]);
        tree.weight[last] = least;
        ++tree.degree[last];
        ++tree.degree[tree.parent[last]];
        tree.length += least;
        fee[last] = key[last] = kInfinity;
    }

    Ends ends;
    for (int city = 1; city < n; ++city) {
        ends.look(city, distance(0, city) + penalty[city] + penalty[0]);
    }
    ends.join(tree);
    tree.length -= 2.0 * std::accumulate(penalty.begin(), penalty.end(), 0.0);
    tree.length -= rounding(distance, penalty, tree) +
                   4.0 * n * std::numeric_limits<double>::epsilon() * std::abs(ends.first_weight);
    return tree;
}

/// Some of the pairs of cities, by city: enough to join all of 1 ... N-1, and two for city 0.
class Graph {
  public:
    struct Edge {
        int city;
        double distance;
    };

    explicit Graph(int size) : edges_(size) {}

    const std::vector<Edge>& at(int city) const { return edges_[city]; }
    /// Returns whether the pair was not yet among them.
    bool add(const Matrix& distance, int one, int other) {
        for (const Edge& edge : edges_[one]) {
            if (edge.city == other) return false;
        }
        edges_[one].push_back({other, distance(one, other)});
        edges_[other].push_back({one, distance(one, other)});
        return true;
    }
    /// Adds what a 1-tree has; returns whether any of it was not yet among them.
    bool add(const Matrix& distance, const OneTree& tree) {
        bool is_new = add(distance, 0, tree.nearest);
        is_new |= add(distance, 0, tree.second);
        for (std::size_t city = 1; city < tree.parent.size(); ++city) {
            if (tree.parent[city] >= 0) {
                is_new |= add(distance, static_cast<int>(city), tree.parent[city]);
            }
        }
        return is_new;
    }

  private:
    std::vector<std::vector<Edge>> edges_;
};

/// A minimum 1-tree among the pairs of a graph: no shorter than that among all pairs, so no bound.
inline OneTree minimum_one_tree(const Graph& graph, const std::vector<double>& penalty) {
    const int n = static_cast<int>(penalty.size());
    OneTree tree = seedling(n);
    using Entry = std::pair<double, int>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
    std::vector<double> key(n, kInfinity);
    std::vector<char> is_joined(n, 0);
    is_joined[0] = 1;
    key[1] = 0.0;
    queue.push({0.0, 1});
    while (!queue.empty()) {
        const int city = queue.top().second;
        queue.pop();
        if (is_joined[city]) continue;
        is_joined[city] = 1;
        tree.order.push_back(city);
        if (const int parent = tree.parent[city]; parent >= 0) {
            tree.weight[city] = key[city];
            tree.length += key[city];
            ++tree.degree[city];
            ++tree.degree[parent];
        }
        for (const Graph::Edge& edge : graph.at(city)) {
            const double weight = edge.distance + penalty[city] + penalty[edge.city];
            if (is_joined[edge.city] || weight >= key[edge.city]) continue;
            key[edge.city] = weight;
            tree.parent[edge.city] = city;
            queue.push({weight, edge.city});
        }
    }
    Ends ends;
    for (const Graph::Edge& edge : graph.at(0)) {
        ends.look(edge.city, edge.distance + penalty[0] + penalty[edge.city]);
    }
    ends.join(tree);
    tree.length -= 2.0 * std::accumulate(penalty.begin(), penalty.end(), 0.0);
    return tree;
}

}  // namespace plink::ring
