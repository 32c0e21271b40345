#pragma once

#include <utility>
#include <vector>

namespace plink::ring {

/// A ring in an array. Which way `next` goes is one bit, so that reversing a path may reverse the
/// rest of the ring instead where that is shorter.
class Tour {
  public:
    explicit Tour(std::vector<int> order) : city_(std::move(order)), position_(city_.size()) {
        for (int i = 0; i < size(); ++i) position_[city_[i]] = i;
    }

    int size() const { return static_cast<int>(city_.size()); }
    const std::vector<int>& order() const { return city_; }

    int next(int city) const { return mirrored_ ? before(city) : after(city); }
    int previous(int city) const { return mirrored_ ? after(city) : before(city); }

    /// Whether `middle` is met on the way from `first` to `last`, both included.
    bool between(int first, int middle, int last) const {
        if (mirrored_) std::swap(first, last);
        const int a = position_[first];
        const int b = position_[middle];
        const int c = position_[last];
        return a <= c ? a <= b && b <= c : a <= b || b <= c;
    }

    /// Walk the ring the other way.
    void mirror() { mirrored_ = !mirrored_; }

    /// Reverse the path `first` ... `last`; undone by `reverse(last, first)`.
    void reverse(int first, int last) {
        if (mirrored_) std::swap(first, last);
        const int i = position_[first];
        const int j = position_[last];
        const int inside = (j >= i ? j - i : j - i + size()) + 1;
        if (2 * inside <= size()) {
            swap_inwards(i, j, inside / 2);
        } else {
            swap_inwards(j + 1 < size() ? j + 1 : 0, i > 0 ? i - 1 : size() - 1,
                         (size() - inside) / 2);
            mirrored_ = !mirrored_;
        }
    }

  private:
    int after(int city) const {
        const int i = position_[city] + 1;
        return city_[i < size() ? i : 0];
    }

    int before(int city) const {
        const int i = position_[city];
        return city_[i > 0 ? i - 1 : size() - 1];
    }

    void swap_inwards(int i, int j, int swaps) {
        for (; swaps > 0; --swaps) {
            const int left = city_[i];
            const int right = city_[j];
            city_[i] = right;
            position_[right] = i;
            city_[j] = left;
            position_[left] = j;
            if (++i == size()) i = 0;
            if (--j < 0) j = size() - 1;
        }
    }

    std::vector<int> city_;
    std::vector<int> position_;
    bool mirrored_ = false;
};

}  // namespace plink::ring
