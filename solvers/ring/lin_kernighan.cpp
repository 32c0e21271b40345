#include "ring/lin_kernighan.hpp"

namespace plink::ring {

LinKernighan::LinKernighan(const Matrix& distance, const std::vector<std::vector<int>>& candidates,
                           Tour& tour, double least_gain, int depth)
    : distance_(distance),
      tour_(tour),
      least_gain_(least_gain),
      depth_(depth),
      is_queued_(distance.size(), 0) {
    for (int city = 0; city < distance.size(); ++city) {
        first_.push_back(candidates_.size());
        for (const int other : candidates[city]) {
            candidates_.push_back({other, distance(city, other)});
        }
    }
    first_.push_back(candidates_.size());
}

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

void LinKernighan::undo_to(std::size_t length) {
    while (journal_.size() > length) {
        auto [first, last] = journal_.back();
        journal_.pop_back();
        if (is_mirrored_) std::swap(first, last);
        tour_.reverse(last, first);
    }
}

void LinKernighan::mirror() {
    is_mirrored_ = !is_mirrored_;
    tour_.mirror();
}

bool LinKernighan::improve_at(int t1) {
    for (int side = 0; side < 2; ++side) {
        const bool is_better = improve_along(t1, tour_.next(t1));
        if (is_mirrored_) mirror();
        if (is_better) return true;
        if (side == 0) mirror();
    }
    return false;
}

bool LinKernighan::improve_along(int t1, int t2) {
    const std::size_t before = journal_.size();
    double gain = distance_(t1, t2);
    int end = t2;
    chain_.clear();
    for (int depth = 1;; ++depth) {
        const Found found = find(t1, end, gain);
        if (found.closed.kind != Kind::kNothing) {
            gained_ += found.closed.gain;
            apply(found.closed, end);
            wake_ends(found.closed);
            wake(t2);
            for (const Move& move : chain_) wake_ends(move);
            return true;
        }
        if (found.open.kind == Kind::kNothing || depth == depth_) break;
        apply(found.open, end);
        chain_.push_back(found.open);
        gain = found.open.gain;
        end = found.open.t6;
    }
    undo_to(before);
    return false;
}

LinKernighan::Found LinKernighan::find(int t1, int t2, double gain) const {
    const Move nothing{Kind::kNothing, least_gain_, -1, -1, -1, -1};
    Found found{nothing, nothing};
    const double* from_t1 = distance_.row(t1);
    for (const Candidate* near = begin_of(t2); near != end_of(t2); ++near) {
        const double left = gain - near->distance;
        if (left <= least_gain_) break;
        const int t3 = near->city;
        if (t3 == t1) continue;
        if (const int t4 = tour_.previous(t3); t4 != t2) {
            const double open = left + distance_(t3, t4);
            const double closed = open - from_t1[t4];
            if (closed > found.closed.gain) found.closed = {Kind::kTwo, closed, t3, t4, -1, -1};
            for (const Candidate* third = begin_of(t4); third != end_of(t4); ++third) {
                const double rest = open - third->distance;
                if (rest <= least_gain_) break;
                const int t5 = third->city;
                if (t5 == t3) continue;
                const bool is_after = tour_.between(t3, t5, t1);
                const int t6 = is_after ? tour_.previous(t5) : tour_.next(t5);
                if (t6 != t4) find_third({Kind::kThree, rest, t3, t4, t5, t6}, from_t1, found);
            }
        }
        const int t4 = tour_.next(t3);
        const double open = left + distance_(t3, t4);
        for (const Candidate* third = begin_of(t4); third != end_of(t4); ++third) {
            const double rest = open - third->distance;
            if (rest <= least_gain_) break;
            const int t5 = third->city;
            if (t5 == t3 || !tour_.between(t2, t5, t3)) continue;
            find_third({Kind::kSwap, rest, t3, t4, t5, tour_.next(t5)}, from_t1, found);
            if (t5 == t2) continue;
            find_third({Kind::kTwist, rest, t3, t4, t5, tour_.previous(t5)}, from_t1, found);
        }
    }
    return found;
}

void LinKernighan::find_third(Move move, const double* from_t1, Found& found) const {
    move.gain += distance_(move.t5, move.t6);
    if (move.gain > found.open.gain) found.open = move;
    move.gain -= from_t1[move.t6];
    if (move.gain > found.closed.gain) found.closed = move;
}

void LinKernighan::apply(const Move& move, int t2) {
    const auto& [kind, gain, t3, t4, t5, t6] = move;
    switch (kind) {
        case Kind::kNothing:
            break;
        case Kind::kTwo:  // t2 ... t4 t3 ... t1 becomes t4 ... t2 t3 ... t1
            reverse(t2, t4);
            break;
        case Kind::kThree:  // the same twice, with (t5, t6) where it is after that
            reverse(t2, t4);
            reverse(t4, t6);
            break;
        case Kind::kSwap:  // t2 ... t5 t6 ... t3 t4 ... becomes t6 ... t3 t2 ... t5 t4 ...
            reverse(t2, t3);
            reverse(t3, t6);
            reverse(t5, t2);
            break;
        case Kind::kTwist:  // t2 ... t6 t5 ... t3 t4 ... becomes t6 ... t2 t3 ... t5 t4 ...
            reverse(t2, t6);
            reverse(t5, t3);
            break;
    }
}

void LinKernighan::wake_ends(const Move& move) {
    for (const int city : {move.t3, move.t4, move.t5, move.t6}) {
        if (city >= 0) wake(city);
    }
}

}  // namespace plink::ring
