// Which hosts the cheapest tree uses: its choices are made once more, from the root down.

#include <algorithm>
#include <limits>

#include "bounds/budget_tree.hpp"

namespace plink::bounds {

namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

}  // namespace

BudgetTree::Uses BudgetTree::uses(int root) const {
    Uses counts{std::vector<int>(hosts_), std::vector<int>(hosts_), 0.0};
    const int last = static_cast<int>(shapes_.size()) - 1;
    std::vector<Child> waiting{{last, root, cells_, most_joined(last, root)}};
    while (!waiting.empty()) {
        const Child one = waiting.back();
        waiting.pop_back();
        ++(shapes_[one.shape].empty() ? counts.leaf : counts.inner)[one.host];
        for (const Child& child : children_of(one)) {
            counts.way += shares_[child.shape] * distance_(one.host, child.host) / limit_;
            waiting.push_back(child);
        }
    }
    return counts;
}

std::vector<BudgetTree::Child> BudgetTree::children_of(const Child& parent) const {
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

BudgetTree::Children BudgetTree::cheapest_of_few(int child, int count, const Child& parent,
                                                 int joined) const {
    const int most = std::min(joined, ranks_[child]);
    // By how many each may be joined with: the two cheapest.
    std::vector<std::vector<std::pair<float, Child>>> places(most + 1);
    for (int number = 0; number <= most; ++number) {
        auto& two = places[number];
        for (const int other : number > 0 ? inside_[parent.host] : outside_[parent.host]) {
            const int left = parent.left - steps(parent.host, other);
            if (left < 0) continue;
            const int own = number > 0 ? number : most_joined(child, other);
            const float paid = row(child, other, own)[left] + toll(child, parent.host, other);
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
                    if (other_place.host == place.host || paid + other_paid >= best.paid) continue;
                    best = {paid + other_paid, {place, other_place}};
                }
            }
        }
    }
    return best;
}

BudgetTree::Children BudgetTree::cheapest_of_many(int child, int count, const Child& parent) const {
    std::vector<std::pair<float, Child>> places;
    for (int other = 0; other < hosts_; ++other) {
        const int left = parent.left - steps(parent.host, other);
        if (other == parent.host || left < 0) continue;
        const int own = most_joined(child, other);
        places.push_back({row(child, other, own)[left] + toll(child, parent.host, other),
                          {child, other, left, own}});
    }
    if (static_cast<int>(places.size()) < count) return {kNever, {}};
    std::nth_element(places.begin(), places.begin() + count - 1, places.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    Children found{0.0F, {}};
    for (int place = 0; place < count; ++place) {
        found.paid += places[place].first;
        found.children.push_back(places[place].second);
    }
    return found;
}

}  // namespace plink::bounds
