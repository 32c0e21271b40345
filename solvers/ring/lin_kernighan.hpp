#pragma once

#include <array>
#include <utility>
#include <vector>

#include "ring/matrix.hpp"
#include "ring/tour.hpp"

namespace plink::ring {

/// Local search by chains of exchanges (Lin and Kernighan 1973), over neighbour lists and from a
/// queue of cities whose surroundings changed (the don't-look bits of Bentley 1992).
class LinKernighan {
  public:
    /// `candidates`: by city, the cities worth a new edge, nearest first. `least_gain`: smaller
    /// gains are rounding.
    LinKernighan(const Matrix& distance, const std::vector<std::vector<int>>& candidates,
                 Tour& tour, double least_gain);

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
    void undo();
    void keep() { journal_.clear(); }

  private:
    /// A chain's next link. With the path t2 ... t1 left after edge (t1, t2) was removed:
    /// `kForward` joins t2 to a, removes (a, b), and b takes the place of t2;
    /// `kBackward` does the same at t1's end; `kSwap` and `kTwist` join t2 to a, remove (a, b),
    /// join b to c inside the cycle that this closed, and remove (c, d): 3-exchanges, among them
    /// every move of a segment to another place (Or 1976).
    enum class Kind { kForward, kBackward, kSwap, kTwist };
    struct Link {
        Kind kind;
        int a, b, c, d;
        double open;    // gain before the ring is closed
        double closed;  // gain after
    };
    /// Of the path `first` ... `last`, the way the tour goes while it is not mirrored.
    struct Reversal {
        int first, last;
    };

    bool improve_at(int t1);
    void undo_last();
    void mirror();
    bool extend(int depth, int t1, int t2, double gain);
    void find_links(int depth, int t1, int t2, double gain, std::vector<Link>& links) const;
    void find_three_exchanges(int t1, int t2, int a, double gain, std::vector<Link>& links) const;
    void apply(const Link& link, int t1, int t2);
    void wake_all(const Link& link);

    static constexpr int kDepth = 5;

    const Matrix& distance_;
    const std::vector<std::vector<int>>& candidates_;
    Tour& tour_;
    double least_gain_;
    double gained_ = 0.0;
    bool is_mirrored_ = false;
    std::vector<Reversal> journal_;
    std::vector<int> queue_;
    std::vector<char> is_queued_;
    std::array<std::vector<Link>, kDepth> links_;
};

}  // namespace plink::ring
