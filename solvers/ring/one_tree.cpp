#include "ring/one_tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

// The bound's time goes into two passes over rows. Where the processor has wider registers than
// the least of its kind, they run several times as fast; the results are the same.
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__)
#define PLINK_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define PLINK_WIDE
#endif

namespace plink::ring {

namespace {

// Steps shrink after so many iterations without a better bound, and the ascent ends when they have
// become too small to matter.
constexpr int kPatience = 20;
constexpr double kShrink = 0.7;
constexpr double kFirstScale = 2.0;
constexpr double kLeastScale = 1e-3;

// A gain below this share of the known ring's cost does not count.
constexpr double kLeastProgress = 1e-7;

// Steps aim this far above the known ring: towards the ring itself they come out too short on
// matrices of racks, where the bound then ends 0.1 % lower.
constexpr double kAim = 1.05;

// Volgenant and Jonker 1982: some of the last direction damps the zigzag.
constexpr double kMomentum = 0.3;

// Cities that join a tree between two looks at the clock.
constexpr int kBetweenLooks = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// City `last` joined the tree: its edges to cities outside may be lighter than those known.
PLINK_WIDE void relax(int n, const double* row, double own_fee, std::int64_t last,
                      const double* fee, double* key, std::int64_t* from) {
    for (int j = 0; j < n; ++j) {
        const double weight = row[j] + fee[j] + own_fee;
        const bool is_lighter = weight < key[j];
        key[j] = is_lighter ? weight : key[j];
        from[j] = is_lighter ? last : from[j];
    }
}

PLINK_WIDE double smallest(int n, const double* key) {
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

double rounding(const Matrix& distance, const std::vector<double>& penalty, const OneTree& tree) {
    const int n = distance.size();
    double magnitude = 0.0;
    double greatest = distance.greatest();
    for (int i = 0; i < n; ++i) {
        magnitude += 2.0 * std::abs(penalty[i]) + std::abs(tree.weight[i]);
        greatest = std::max(greatest, 2.0 * std::abs(penalty[i]));
    }
    return 4.0 * n * std::numeric_limits<double>::epsilon() * (magnitude + 2.0 * greatest);
}

}  // namespace

OneTree minimum_one_tree(const Matrix& distance, const std::vector<double>& penalty,
                         limits::Watch& watch) {
    const int n = distance.size();
    OneTree tree;
    tree.parent.assign(n, -1);
    tree.weight.assign(n, 0.0);
    tree.degree.assign(n, 0);
    tree.order.reserve(n - 1);

    // Prim on the dense matrix. A city in the tree has an infinite entry fee, so that the passes
    // over a row need no test.
    std::vector<double> fee(penalty);
    fee[0] = fee[1] = kInfinity;
    std::vector<double> key(n, kInfinity);
    std::vector<std::int64_t> from(n, -1);
    double length = 0.0;
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
        length += least;
        fee[last] = key[last] = kInfinity;
    }

    double first_weight = kInfinity;
    double second_weight = kInfinity;
    for (int city = 1; city < n; ++city) {
        const double weight = distance(0, city) + penalty[city] + penalty[0];
        if (weight < first_weight) {
            second_weight = first_weight;
            tree.second = tree.nearest;
            first_weight = weight;
            tree.nearest = city;
        } else if (weight < second_weight) {
            second_weight = weight;
            tree.second = city;
        }
    }
    tree.weight[0] = second_weight;
    tree.degree[0] = 2;
    ++tree.degree[tree.nearest];
    ++tree.degree[tree.second];
    length += first_weight + second_weight;
    length -= 2.0 * std::accumulate(penalty.begin(), penalty.end(), 0.0);
    tree.length = length - rounding(distance, penalty, tree) -
                  4.0 * n * std::numeric_limits<double>::epsilon() * std::abs(first_weight);
    return tree;
}

Ascent::Ascent(Matrix distance, double upper)
    : distance_(std::move(distance)),
      upper_(upper),
      scale_(kFirstScale),
      penalty_(distance_.size(), 0.0),
      best_(distance_.size(), 0.0) {}

bool Ascent::run(int iterations, limits::Watch& watch) {
    for (; iterations > 0 && !done_ && !watch.is_over(); --iterations) {
        OneTree tree;
        try {
            tree = minimum_one_tree(distance_, penalty_, watch);
        } catch (const limits::TimeOver&) {
            break;
        }
        const bool is_progress = tree.length > bound_ + kLeastProgress * upper_;
        if (tree.length > bound_) {
            bound_ = tree.length;
            best_ = penalty_;
        }
        if (is_progress) {
            stale_ = 0;
        } else if (++stale_ >= kPatience) {
            stale_ = 0;
            scale_ *= kShrink;
        }
        step(tree);
    }
    return done_;
}

void Ascent::step(const OneTree& tree) {
    double norm = 0.0;
    for (const int degree : tree.degree) norm += (degree - 2) * (degree - 2);
    // Every degree 2: the 1-tree is a ring, hence optimal.
    done_ = norm == 0.0 || tree.length >= upper_ || scale_ < kLeastScale;
    if (done_) return;
    const double size = scale_ * (kAim * upper_ - tree.length) / norm;
    if (previous_.empty()) previous_ = tree.degree;
    for (std::size_t i = 0; i < penalty_.size(); ++i) {
        penalty_[i] +=
            size * ((1.0 - kMomentum) * (tree.degree[i] - 2) + kMomentum * (previous_[i] - 2));
    }
    previous_ = tree.degree;
}

std::vector<std::vector<int>> Ascent::candidates(int by_alpha, int by_distance,
                                                 limits::Watch& watch) const {
    const int n = distance_.size();
    std::vector<std::vector<int>> lists(n);
    OneTree tree;
    try {
        tree = minimum_one_tree(distance_, best_, watch);
    } catch (const limits::TimeOver&) {
        return lists;
    }
    std::vector<double> heaviest(n);
    std::vector<int> marked_by(n, -1);
    std::vector<int> others(n - 1);
    std::vector<double> alpha(n);
    for (int i = 0; i < n && !watch.is_over(); ++i) {
        const auto weight = [&](int j) { return distance_(i, j) + best_[i] + best_[j]; };
        if (i == 0) {
            for (int j = 1; j < n; ++j) alpha[j] = std::max(0.0, weight(j) - tree.weight[0]);
        } else {
            // The heaviest tree edge between i and j: up from i to the root, then down along the
            // order in which the tree grew.
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

}  // namespace plink::ring
