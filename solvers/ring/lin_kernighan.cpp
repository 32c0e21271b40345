#include "ring/lin_kernighan.hpp"

#include <algorithm>

namespace plink::ring {

namespace {

// How many links are tried where a chain starts; later the best one only. Wider and deeper chains
// find more each, but so many fewer fit into a second that the ring ends dearer.
constexpr std::size_t kBreadth = 5;

}  // namespace

LinKernighan::LinKernighan(const Matrix& distance, const std::vector<std::vector<int>>& candidates,
                           Tour& tour, double least_gain)
    : distance_(distance),
      candidates_(candidates),
      tour_(tour),
      least_gain_(least_gain),
      is_queued_(distance.size(), 0) {}

void LinKernighan::wake(int city) {
    if (is_queued_[city]) return;
    is_queued_[city] = 1;
    queue_.push_back(city);
}

void LinKernighan::reverse(int first, int last) {
    tour_.reverse(first, last);
    if (is_mirrored_) std::swap(first, last);
    journal_.push_back({first, last});
}

void LinKernighan::undo_last() {
    auto [first, last] = journal_.back();
    journal_.pop_back();
    if (is_mirrored_) std::swap(first, last);
    tour_.reverse(last, first);
}

void LinKernighan::undo() {
    while (!journal_.empty()) undo_last();
}

void LinKernighan::mirror() {
    is_mirrored_ = !is_mirrored_;
    tour_.mirror();
}

bool LinKernighan::improve_at(int t1) {
    for (int side = 0; side < 2; ++side) {
        const int t2 = tour_.next(t1);
        const bool is_better = extend(0, t1, t2, distance_(t1, t2));
        if (is_better) wake(t2);
        if (is_mirrored_) mirror();
        if (is_better) return true;
        if (side == 0) mirror();
    }
    return false;
}

bool LinKernighan::extend(int depth, int t1, int t2, double gain) {
    std::vector<Link>& links = links_[depth];
    links.clear();
    find_links(depth, t1, t2, gain, links);
    const auto cheaper = [](const Link& x, const Link& y) { return x.closed < y.closed; };
    const auto best = std::max_element(links.begin(), links.end(), cheaper);
    if (best != links.end() && best->closed > least_gain_) {
        gained_ += best->closed;
        apply(*best, t1, t2);
        wake_all(*best);
        return true;
    }
    if (depth + 1 == kDepth) return false;
    const auto promising = [](const Link& x, const Link& y) { return x.open > y.open; };
    const std::size_t tried = std::min(depth == 0 ? kBreadth : 1, links.size());
    std::partial_sort(links.begin(), links.begin() + tried, links.end(), promising);
    for (std::size_t i = 0; i < tried; ++i) {
        const Link link = links[i];
        const std::size_t mark = journal_.size();
        apply(link, t1, t2);
        const bool backward = link.kind == Kind::kBackward;
        const int end = link.kind == Kind::kForward || backward ? link.b : link.d;
        if (backward ? extend(depth + 1, end, t2, link.open)
                     : extend(depth + 1, t1, end, link.open)) {
            wake_all(link);
            return true;
        }
        while (journal_.size() > mark) undo_last();
    }
    return false;
}

void LinKernighan::find_links(int depth, int t1, int t2, double gain,
                              std::vector<Link>& links) const {
    const double* from_t1 = distance_.row(t1);
    const double* from_t2 = distance_.row(t2);
    for (const int a : candidates_[t2]) {
        const double left = gain - from_t2[a];
        if (left <= least_gain_) break;
        if (a == t1) continue;
        const int b = tour_.previous(a);
        if (b != t2) {
            const double open = left + distance_(a, b);
            links.push_back({Kind::kForward, a, b, -1, -1, open, open - from_t1[b]});
        }
        if (depth == 0) find_three_exchanges(t1, t2, a, left, links);
    }
    for (const int a : candidates_[t1]) {
        const double left = gain - from_t1[a];
        if (left <= least_gain_) break;
        if (a == t2) continue;
        const int b = tour_.next(a);
        if (b == t1) continue;
        const double open = left + distance_(a, b);
        links.push_back({Kind::kBackward, a, b, -1, -1, open, open - from_t2[b]});
    }
}

void LinKernighan::find_three_exchanges(int t1, int t2, int a, double gain,
                                        std::vector<Link>& links) const {
    const int b = tour_.next(a);
    const double without = gain + distance_(a, b);
    const double* from_b = distance_.row(b);
    for (const int c : candidates_[b]) {
        const double left = without - from_b[c];
        if (left <= least_gain_) break;
        if (c == a || !tour_.between(t2, c, a)) continue;
        const int after = tour_.next(c);
        double open = left + distance_(c, after);
        links.push_back({Kind::kSwap, a, b, c, after, open, open - distance_(after, t1)});
        if (c == t2) continue;
        const int before = tour_.previous(c);
        open = left + distance_(c, before);
        links.push_back({Kind::kTwist, a, b, c, before, open, open - distance_(before, t1)});
    }
}

void LinKernighan::apply(const Link& link, int t1, int t2) {
    switch (link.kind) {
        case Kind::kForward:  // t2 ... b a ... t1 becomes b ... t2 a ... t1
            reverse(t2, link.b);
            break;
        case Kind::kBackward:  // t2 ... a b ... t1 becomes t2 ... a t1 ... b
            reverse(link.b, t1);
            break;
        case Kind::kSwap:  // t2 ... c d ... a b becomes d ... a t2 ... c b
            reverse(t2, link.a);
            reverse(link.a, link.d);
            reverse(link.c, t2);
            break;
        case Kind::kTwist:  // t2 ... d c ... a b becomes d ... t2 a ... c b
            reverse(t2, link.d);
            reverse(link.c, link.a);
            break;
    }
}

void LinKernighan::wake_all(const Link& link) {
    for (const int city : {link.a, link.b, link.c, link.d}) {
        if (city >= 0) wake(city);
    }
}

}  // namespace plink::ring
