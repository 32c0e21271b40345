#include "bounds/budget_tree.hpp"

#include <algorithm>
#include <limits>

namespace plink::bounds {

namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

// Less than 1 by more than rounding can add to a sum of distances.
constexpr double kRoundedDown = 1.0 - 1e-9;

}  // namespace

BudgetTree::BudgetTree(const ring::Matrix& distance, Shapes shapes, double limit, int cells)
    : hosts_(distance.size()),
      cells_(cells),
      shapes_(std::move(shapes)),
      steps_(static_cast<std::size_t>(hosts_) * hosts_),
      values_(shapes_.size() * hosts_ * (cells + 1)),
      first_(shapes_.size() * hosts_) {
    for (const auto& children : shapes_) {
        int ranks = 1;
        for (const auto& [child, count] : children) ranks += count * ranks_[child];
        ranks_.push_back(ranks);
    }
    for (int from = 0; from < hosts_; ++from) {
        for (int to = 0; to < hosts_; ++to) {
            const double part = std::min(2.0, distance(from, to) / limit);
            steps_[static_cast<std::size_t>(from) * hosts_ + to] =
                std::min(cells_ + 1, static_cast<int>(part * cells_ * kRoundedDown));
        }
    }
}

std::vector<float> BudgetTree::cheapest(const std::vector<float>& prices, limits::Watch& watch) {
    const int last = static_cast<int>(shapes_.size()) - 1;
    for (int shape = 0; shape <= last; ++shape) {
        const int from = shape == last ? cells_ : 0;
        for (int host = 0; host < hosts_; ++host) {
            watch.throw_if_over();
            float* paid = row(shape, host);
            std::fill(paid, paid + from, kNever);
            std::fill(paid + from, paid + cells_ + 1, prices[host]);
            for (const auto& [child, count] : shapes_[shape]) {
                if (count == 1) {
                    add_one(child, host, from, paid);
                } else if (count == 2) {
                    add_two(child, host, from, paid);
                } else {
                    add_many(child, count, host, from, paid);
                }
            }
            const float* end = paid + cells_ + 1;
            const float* found =
                std::find_if(paid, paid + cells_ + 1, [](float value) { return value != kNever; });
            first_[static_cast<std::size_t>(shape) * hosts_ + host] =
                static_cast<int>((found == end ? end : found) - paid);
        }
    }
    std::vector<float> costs(hosts_);
    for (int host = 0; host < hosts_; ++host) costs[host] = row(last, host)[cells_];
    return costs;
}

void BudgetTree::add_one(int child, int host, int from, float* paid) {
    least_.assign(cells_ + 1, kNever);
    float* least = least_.data();
    const int* first = first_.data() + static_cast<std::size_t>(child) * hosts_;
    for (int other = 0; other < hosts_; ++other) {
        const int needed = steps(host, other);
        const int begin = std::max(from, needed + first[other]);
        if (other == host || begin > cells_) continue;
        const float* below = row(child, other);
        for (int left = begin; left <= cells_; ++left) {
            const float value = below[left - needed];
            least[left] = value < least[left] ? value : least[left];
        }
    }
    for (int left = from; left <= cells_; ++left) paid[left] += least[left];
}

void BudgetTree::add_two(int child, int host, int from, float* paid) {
    least_.assign(cells_ + 1, kNever);
    second_.assign(cells_ + 1, kNever);
    float* __restrict least = least_.data();
    float* __restrict second = second_.data();
    const int* first = first_.data() + static_cast<std::size_t>(child) * hosts_;
    for (int other = 0; other < hosts_; ++other) {
        const int needed = steps(host, other);
        const int begin = std::max(from, needed + first[other]);
        if (other == host || begin > cells_) continue;
        const float* __restrict below = row(child, other);
        for (int left = begin; left <= cells_; ++left) {
            const float value = below[left - needed];
            const float greater = value < least[left] ? least[left] : value;
            least[left] = value < least[left] ? value : least[left];
            second[left] = greater < second[left] ? greater : second[left];
        }
    }
    for (int left = from; left <= cells_; ++left) paid[left] += least[left] + second[left];
}

void BudgetTree::add_many(int child, int count, int host, int from, float* paid) const {
    std::vector<float> values;
    for (int left = from; left <= cells_; ++left) {
        values.clear();
        for (int other = 0; other < hosts_; ++other) {
            const int needed = steps(host, other);
            if (other != host && needed <= left) values.push_back(row(child, other)[left - needed]);
        }
        if (static_cast<int>(values.size()) < count) {
            paid[left] = kNever;
            continue;
        }
        std::nth_element(values.begin(), values.begin() + count - 1, values.end());
        for (int place = 0; place < count; ++place) paid[left] += values[place];
    }
}

std::vector<int> BudgetTree::uses(int root) const {
    struct Use {
        int shape, host, left;
    };
    std::vector<int> counts(hosts_);
    std::vector<Use> waiting{{static_cast<int>(shapes_.size()) - 1, root, cells_}};
    std::vector<std::pair<float, int>> values;
    while (!waiting.empty()) {
        const Use use = waiting.back();
        waiting.pop_back();
        ++counts[use.host];
        for (const auto& [child, count] : shapes_[use.shape]) {
            values.clear();
            for (int other = 0; other < hosts_; ++other) {
                const int left = use.left - steps(use.host, other);
                if (other != use.host && left >= 0) {
                    values.emplace_back(row(child, other)[left], other);
                }
            }
            std::nth_element(values.begin(), values.begin() + count - 1, values.end());
            for (int place = 0; place < count; ++place) {
                const int other = values[place].second;
                waiting.push_back({child, other, use.left - steps(use.host, other)});
            }
        }
    }
    return counts;
}

}  // namespace plink::bounds
