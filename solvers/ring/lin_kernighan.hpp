#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"
#include "ring/tour.hpp"

namespace plink::ring {

/// Local search by chains of exchanges (Lin and Kernighan 1973), each of two or three edges at a
/// time (the basis move of Helsgaun 2000, with three edges), over neighbour lists and from a queue
/// of cities whose surroundings changed (the don't-look bits of Bentley 1992).
class LinKernighan {
  public:
    /// `candidates`: by city, the cities worth a new edge, nearest first. `least_gain`: smaller
    /// gains are rounding. `depth`: the longest chain.
    LinKernighan(const Matrix& distance, const std::vector<std::vector<int>>& candidates,
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

    /// Look again at what surrounds `city`.
    void wake(int city) {
        if (is_queued_[city]) return;
        is_queued_[city] = 1;
        queue_.push_back(city);
    }

    /// Improve until no queued city can, or until `is_over()`; returns whether none can.
    template <typename IsOver>
    bool improve(const IsOver& is_over) {
        while (!queue_.empty()) {
            if (is_over()) return false;
            const int city = queue_.back();
            queue_.pop_back();
            is_queued_[city] = 0;
            while (improve_at(city)) {
            }
        }
        return true;
    }

    /// By how much the ring became cheaper since this was last asked.
    double take_gain() { return std::exchange(gained_, 0.0); }

    /// Reverse a path of the tour in a way that `undo` can take back.
    void reverse(int first, int last) {
        tour_.reverse(first, last);
        if (is_mirrored_) std::swap(first, last);
        journal_.push_back({first, last});
    }

    /// Take back every reversal since the last `keep`.
    void undo() { undo_to(0); }
    void keep() { journal_.clear(); }

  private:
    /// With edge (t1, t2) removed, the ring is a path t2 ... t1. `kTwo` joins t2 to t3 and removes
    /// (t3, t4), t4 before t3; `kThree` then joins t4 to t5 and removes (t5, t6). `kSwap` and
    /// `kTwist` have t4 after t3, which closes a cycle t2 ... t3, and break it at (t5, t6), t6
    /// after t5 or before: among them is every move of a segment to another place (Or 1976). What
    /// then runs from t4 or t6 to t1 is a path again.
    enum class Kind { kNothing, kTwo, kThree, kSwap, kTwist };
    struct Move {
        Kind kind;
        double gain;
        int t3, t4, t5, t6;
    };
    /// The best moves from one edge, by the gain if the ring is closed after it, and by the gain
    /// before that.
    struct Found {
        Move closed, open;
    };
    struct Candidate {
        int city;
        double distance;
    };
    /// Of the path `first` ... `last`, the way the tour goes while it is not mirrored.
    struct Reversal {
        int first, last;
    };

    bool improve_at(int t1) {
        for (int side = 0; side < 2; ++side) {
            const bool is_better = improve_along(t1, tour_.next(t1));
            if (is_mirrored_) mirror();
            if (is_better) return true;
            if (side == 0) mirror();
        }
        return false;
    }

    bool improve_along(int t1, int t2) {
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

    Found find(int t1, int t2, double gain) const {
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

    void find_third(Move move, const double* from_t1, Found& found) const {
        move.gain += distance_(move.t5, move.t6);
        if (move.gain > found.open.gain) found.open = move;
        move.gain -= from_t1[move.t6];
        if (move.gain > found.closed.gain) found.closed = move;
    }

    void apply(const Move& move, int t2) {
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

    void wake_ends(const Move& move) {
        for (const int city : {move.t3, move.t4, move.t5, move.t6}) {
            if (city >= 0) wake(city);
        }
    }

    void undo_to(std::size_t length) {
        while (journal_.size() > length) {
            auto [first, last] = journal_.back();
            journal_.pop_back();
            if (is_mirrored_) std::swap(first, last);
            tour_.reverse(last, first);
        }
    }

    void mirror() {
        is_mirrored_ = !is_mirrored_;
        tour_.mirror();
    }

    const Candidate* begin_of(int city) const { return candidates_.data() + first_[city]; }
    const Candidate* end_of(int city) const { return candidates_.data() + first_[city + 1]; }

    const Matrix& distance_;
    std::vector<Candidate> candidates_;  // of city 0, of city 1, ...
    std::vector<std::size_t> first_;     // by city, where its candidates begin; and their end
    Tour& tour_;
    double least_gain_;
    int depth_;
    double gained_ = 0.0;
    bool is_mirrored_ = false;
    std::vector<Reversal> journal_;
    std::vector<int> queue_;
    std::vector<char> is_queued_;
    std::vector<Move> chain_;
};

}  // namespace plink::ring
