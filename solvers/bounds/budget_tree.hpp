#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "limits/deadline.hpp"
#include "ring/matrix.hpp"

namespace plink::bounds {

/// The cheapest trees that may use a host more than once or never and pay its price for each use,
/// where no way from the root to a leaf is longer than a limit, and where ranks that are joined
/// within a group of hosts are no more than the group has hosts.
///
/// Lengths are whole numbers of cells, rounded down, so that no tree is left out that keeps the
/// limit. Prices are whole numbers, small enough for all sums to be exact.
class BudgetTree {
  public:
    /// By subtree, each after those of its children, the whole tree last: its root's children, as
    /// the place of a subtree and how many of them there are.
    using Shapes = std::vector<std::vector<std::pair<int, int>>>;

    /// `group`: by host, 0 to fewer than there are hosts. `limit` above 0, `cells` at least 1.
    BudgetTree(const ring::Matrix& distance, Shapes shapes, const std::vector<int>& group,
               double limit, int cells)
        : hosts_(distance.size()),
          cells_(cells),
          width_(cells + 1),
          shapes_(std::move(shapes)),
          steps_(static_cast<std::size_t>(hosts_) * hosts_),
          inside_(hosts_),
          outside_(hosts_),
          block_(hosts_ + 1),
          first_(shapes_.size() * hosts_) {
        for (const auto& children : shapes_) {
            int ranks = 1;
            for (const auto& [child, count] : children) ranks += count * ranks_[child];
            ranks_.push_back(ranks);
        }
        std::size_t largest = 0;
        for (int from = 0; from < hosts_; ++from) {
            for (int to = 0; to < hosts_; ++to) {
                const double exact = distance(from, to) / limit * cells_;
                steps_[static_cast<std::size_t>(from) * hosts_ + to] =
                    static_cast<int>(std::min(cells_ + 1.0, exact * kRoundedDown));
                if (from != to) (group[from] == group[to] ? inside_ : outside_)[from].push_back(to);
            }
            const std::size_t members = inside_[from].size() + 1;
            block_[from + 1] = block_[from] + members * width_;
            largest = std::max(largest, members);
        }
        values_.resize(shapes_.size() * block_.back());
        for (auto* values : {&places_.least, &places_.second, &places_.host, &sums_}) {
            values->resize(largest * width_);
        }
    }

    int hosts() const { return hosts_; }
    /// By host as the root: what the cheapest tree pays, infinite if none keeps the limit.
    /// `prices`: by host.
    std::vector<float> cheapest(const std::vector<float>& prices, limits::Watch& watch) {
        const int last = static_cast<int>(shapes_.size()) - 1;
        for (int shape = 0; shape <= last; ++shape) {
            const int from = shape == last ? cells_ : 0;
            for (int host = 0; host < hosts_; ++host) {
                watch.throw_if_over();
                const int most = most_joined(shape, host);
                for (int joined = 1; joined <= most; ++joined) {
                    float* paid = row(shape, host, joined);
                    std::fill(paid, paid + from, kNever);
                    std::fill(paid + from, paid + width_, prices[host]);
                }
                for (const auto& [child, count] : shapes_[shape]) {
                    add_sums(shape, child, count, host, from);
                }
                const float* paid = row(shape, host, most);
                const float* found =
                    std::find_if(paid, paid + width_, [](float value) { return value != kNever; });
                first_[static_cast<std::size_t>(shape) * hosts_ + host] =
                    static_cast<int>(found - paid);
            }
        }
        std::vector<float> costs(hosts_);
        for (int host = 0; host < hosts_; ++host) {
            costs[host] = row(last, host, most_joined(last, host))[cells_];
        }
        return costs;
    }

    /// How often each host is used by the tree that was found for a root, of a finite cost.
    std::vector<int> uses(int root) const {
        std::vector<int> counts(hosts_);
        const int last = static_cast<int>(shapes_.size()) - 1;
        std::vector<Child> waiting{{last, root, cells_, most_joined(last, root)}};
        while (!waiting.empty()) {
            const Child one = waiting.back();
            waiting.pop_back();
            ++counts[one.host];
            for (const Child& child : children_of(one)) waiting.push_back(child);
        }
        return counts;
    }

  private:
    static constexpr float kNever = std::numeric_limits<float>::infinity();

    // Less than 1 by more than rounding can add to a sum of distances.
    static constexpr double kRoundedDown = 1.0 - 1e-9;

    /// The cheapest places of a child, by how many ranks of the parent's group it may be joined
    /// with, itself included: 0 where it is in another group.
    struct Places {
        std::vector<float> least, second, host;
    };
    struct Child {
        int shape, host, left, joined;
    };
    /// What some children pay, and which they are.
    struct Children {
        float paid;
        std::vector<Child> children;
    };

    const float* row(int shape, int host, int joined) const {
        return values_.data() + start(shape, host, joined);
    }

    float* row(int shape, int host, int joined) {
        return values_.data() + start(shape, host, joined);
    }

    std::size_t start(int shape, int host, int joined) const {
        return shape * block_.back() + block_[host] + static_cast<std::size_t>(joined - 1) * width_;
    }

    int steps(int from, int to) const {
        return steps_[static_cast<std::size_t>(from) * hosts_ + to];
    }
    /// Ranks of one group that are joined in a subtree whose root is on the host, at most.
    int most_joined(int shape, int host) const {
        return std::min(ranks_[shape], static_cast<int>(inside_[host].size()) + 1);
    }

    void find_places(int child, int host, int from) {
        const int* first = first_.data() + static_cast<std::size_t>(child) * hosts_;
        const int most = std::min(static_cast<int>(inside_[host].size()), ranks_[child]);
        for (int joined = 0; joined <= most; ++joined) {
            const std::size_t begins = static_cast<std::size_t>(joined) * width_;
            float* __restrict least = places_.least.data() + begins;
            float* __restrict second = places_.second.data() + begins;
            float* __restrict where = places_.host.data() + begins;
            std::fill(least, least + width_, kNever);
            std::fill(second, second + width_, kNever);
            std::fill(where, where + width_, -1.0F);
            for (const int other : joined > 0 ? inside_[host] : outside_[host]) {
                const int needed = steps(host, other);
                const int begin = std::max(from, needed + first[other]);
                const float* __restrict below =
                    row(child, other, joined > 0 ? joined : most_joined(child, other));
                const auto name = static_cast<float>(other);
                for (int left = begin; left <= cells_; ++left) {
                    const float value = below[left - needed];
                    const bool is_less = value < least[left];
                    const float greater = is_less ? least[left] : value;
                    least[left] = is_less ? value : least[left];
                    where[left] = is_less ? name : where[left];
                    second[left] = greater < second[left] ? greater : second[left];
                }
            }
        }
    }

    void find_sums(int child, int count, int host, int from) {
        find_places(child, host, from);
        const int members = static_cast<int>(inside_[host].size());
        const int most = std::min(members, ranks_[child]);
        for (int joined = 0; joined <= std::min(members, count * ranks_[child]); ++joined) {
            float* __restrict sum = sums_.data() + static_cast<std::size_t>(joined) * width_;
            std::fill(sum, sum + width_, kNever);
            if (joined > 0) std::copy(sum - width_, sum, sum);
            // One of two children is joined with `fewer`.
            for (int fewer = count == 1 ? joined : std::max(0, joined - most); fewer <= joined;
                 ++fewer) {
                const int more = joined - fewer;
                if (count == 2 && fewer > more) break;
                const float* __restrict least = places_.least.data() + fewer * width_;
                if (count == 1) {
                    for (int left = from; left <= cells_; ++left) {
                        sum[left] = least[left] < sum[left] ? least[left] : sum[left];
                    }
                    continue;
                }
                const float* __restrict second = places_.second.data() + fewer * width_;
                const float* __restrict other_least = places_.least.data() + more * width_;
                const float* __restrict other_second = places_.second.data() + more * width_;
                const float* __restrict where = places_.host.data() + fewer * width_;
                const float* __restrict other_where = places_.host.data() + more * width_;
                for (int left = from; left <= cells_; ++left) {
                    const float apart = least[left] + other_least[left];
                    const float one = least[left] + other_second[left];
                    const float other = second[left] + other_least[left];
                    const float same = one < other ? one : other;
                    const float both = where[left] == other_where[left] ? same : apart;
                    sum[left] = both < sum[left] ? both : sum[left];
                }
            }
        }
    }

    void find_sums_of_many(int child, int count, int host, int from) {
        std::vector<float> values;
        for (int left = from; left <= cells_; ++left) {
            values.clear();
            for (int other = 0; other < hosts_; ++other) {
                const int needed = steps(host, other);
                if (other == host || needed > left) continue;
                values.push_back(row(child, other, most_joined(child, other))[left - needed]);
            }
            sums_[left] = kNever;
            if (static_cast<int>(values.size()) < count) continue;
            std::nth_element(values.begin(), values.begin() + count - 1, values.end());
            sums_[left] = 0.0F;
            for (int place = 0; place < count; ++place) sums_[left] += values[place];
        }
    }

    void add_sums(int shape, int child, int count, int host, int from) {
        if (count <= 2) {
            find_sums(child, count, host, from);
        } else {
            find_sums_of_many(child, count, host, from);
        }
        const int most = most_joined(shape, host);
        const int others = count <= 2 ? std::min(most - 1, count * ranks_[child]) : 0;
        for (int joined = most; joined >= 1; --joined) {
            // With `own` of them among the rank and its children so far.
            float* __restrict paid = row(shape, host, joined);
            for (int left = from; left <= cells_; ++left) paid[left] += sums_[left];
            for (int more = 1; more <= std::min(others, joined - 1); ++more) {
                const float* __restrict own = row(shape, host, joined - more);
                const float* __restrict sum =
                    sums_.data() + static_cast<std::size_t>(more) * width_;
                for (int left = from; left <= cells_; ++left) {
                    const float together = own[left] + sum[left];
                    paid[left] = together < paid[left] ? together : paid[left];
                }
            }
        }
    }

    Children cheapest_of_few(int child, int count, const Child& parent, int joined) const {
        const int most = std::min(joined, ranks_[child]);
        // By how many each may be joined with: the two cheapest.
        std::vector<std::vector<std::pair<float, Child>>> places(most + 1);
        for (int number = 0; number <= most; ++number) {
            auto& two = places[number];
            for (const int other : number > 0 ? inside_[parent.host] : outside_[parent.host]) {
                const int left = parent.left - steps(parent.host, other);
                if (left < 0) continue;
                const int own = number > 0 ? number : most_joined(child, other);
                const float paid = row(child, other, own)[left];
                if (two.size() == 2 && paid >= two.back().first) continue;
                if (two.size() == 2) two.pop_back();
                two.push_back({paid, {child, other, left, own}});
                if (two.size() == 2 && two.back().first < two.front().first) {
                    std::swap(two.front(), two.back());
                }
            }
        }
        Children best{kNever, {}};
        for (int number = 0; number <= most; ++number) {
            for (const auto& [paid, place] : places[number]) {
                if (count == 1) {
                    if (paid < best.paid) best = {paid, {place}};
                    continue;
                }
                for (int other = 0; other <= std::min(most, joined - number); ++other) {
                    for (const auto& [other_paid, other_place] : places[other]) {
                        if (other_place.host == place.host || paid + other_paid >= best.paid)
                            continue;
                        best = {paid + other_paid, {place, other_place}};
                    }
                }
            }
        }
        return best;
    }

    Children cheapest_of_many(int child, int count, const Child& parent) const {
        std::vector<std::pair<float, Child>> places;
        for (int other = 0; other < hosts_; ++other) {
            const int left = parent.left - steps(parent.host, other);
            if (other == parent.host || left < 0) continue;
            const int own = most_joined(child, other);
            places.push_back({row(child, other, own)[left], {child, other, left, own}});
        }
        if (static_cast<int>(places.size()) < count) return {kNever, {}};
        std::nth_element(
            places.begin(), places.begin() + count - 1, places.end(),
            [](const auto& one, const auto& other) { return one.first < other.first; });
        Children found{0.0F, {}};
        for (int place = 0; place < count; ++place) {
            found.paid += places[place].first;
            found.children.push_back(places[place].second);
        }
        return found;
    }

    /// Where the cheapest tree has the children of a rank: the choices of `cheapest` once more.
    std::vector<Child> children_of(const Child& parent) const {
        // By how many ranks the children so far are joined with, at most.
        std::vector<Children> found(parent.joined, {0.0F, {}});
        for (const auto& [child, count] : shapes_[parent.shape]) {
            std::vector<Children> these;
            for (int joined = 0; joined < parent.joined; ++joined) {
                these.push_back(count <= 2 ? cheapest_of_few(child, count, parent, joined)
                                           : cheapest_of_many(child, count, parent));
            }
            for (int joined = parent.joined - 1; joined >= 0; --joined) {
                int best = 0;
                for (int more = 1; more <= joined; ++more) {
                    if (found[joined - more].paid + these[more].paid <
                        found[joined - best].paid + these[best].paid) {
                        best = more;
                    }
                }
                Children both = found[joined - best];
                both.paid += these[best].paid;
                both.children.insert(both.children.end(), these[best].children.begin(),
                                     these[best].children.end());
                found[joined] = both;
            }
        }
        return found.back().children;
    }

    int hosts_, cells_, width_;
    Shapes shapes_;
    std::vector<int> ranks_;                // by shape
    std::vector<int> steps_;                // by pair of hosts: cells between, at most one too many
    std::vector<std::vector<int>> inside_;  // by host: the others of its group
    std::vector<std::vector<int>> outside_;
    std::vector<std::size_t> block_;  // by host: where its values begin, of all of a shape
    std::vector<float> values_;       // by shape, host, most that are joined, and cells left
    std::vector<int> first_;          // by shape and host: the fewest cells that suffice
    Places places_;
    std::vector<float> sums_;  // of a node's equal children, by how many they are joined with
};

}  // namespace plink::bounds
