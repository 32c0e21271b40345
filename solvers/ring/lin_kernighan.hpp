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
                 Tour& tour, double least_gain, int depth);

    /// Look again at what surrounds `city`.
    void wake(int city);

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
    void reverse(int first, int last);

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

    bool improve_at(int t1);
    bool improve_along(int t1, int t2);
    Found find(int t1, int t2, double gain) const;
    void find_third(Move move, const double* from_t1, Found& found) const;
    void apply(const Move& move, int t2);
    void wake_ends(const Move& move);
    void undo_to(std::size_t length);
    void mirror();

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
