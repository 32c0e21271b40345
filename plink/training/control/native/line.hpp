#pragma once

#include <cstdint>
#include <vector>

namespace plink::control {

/// Positions one behind the other, each at most once.
class Line {
  public:
    static constexpr std::uint64_t kNone = UINT64_MAX;

    /// The one in front, if any.
    std::uint64_t front() const { return front_; }
    /// The one behind another, if any.
    std::uint64_t behind(std::uint64_t position) const { return links_[position].behind; }

    /// Goes to the back. `position`: not in the line.
    void add(std::uint64_t position) {
        if (links_.size() <= position) links_.resize(position + 1);
        links_[position] = {back_, kNone};
        (back_ == kNone ? front_ : links_[back_].behind) = position;
        back_ = position;
    }

    /// Leaves. `position`: in the line.
    void remove(std::uint64_t position) {
        const Link link = links_[position];
        (link.before == kNone ? front_ : links_[link.before].behind) = link.behind;
        (link.behind == kNone ? back_ : links_[link.behind].before) = link.before;
    }

    /// All leave.
    void clear() { front_ = back_ = kNone; }

  private:
    struct Link {
        std::uint64_t before = kNone, behind = kNone;
    };

    std::vector<Link> links_;
    std::uint64_t front_ = kNone;
    std::uint64_t back_ = kNone;
};

}  // namespace plink::control
