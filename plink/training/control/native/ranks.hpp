#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plink::control {

/// A set of ranks.
class Ranks {
  public:
    /// First and last of each span, ascending, with a gap between any two.
    using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

    Ranks() = default;
    explicit Ranks(Spans spans) : spans_(std::move(spans)) {}
    static Ranks of(std::int64_t rank) { return Ranks({{rank, rank}}); }
    /// 0 to `ranks` - 1.
    static Ranks below(std::int64_t ranks);

    const Spans& spans() const { return spans_; }
    bool empty() const { return spans_.empty(); }
    std::int64_t size() const;
    bool contains(std::int64_t rank) const;
    Ranks& operator|=(const Ranks& other);
    Ranks operator-(const Ranks& other) const;
    Ranks operator&(const Ranks& other) const { return *this - (*this - other); }
    /// Such as `rank 3` or `ranks 0-2, 5`; of many the first few, and how many more.
    std::string described() const;

  private:
    Spans spans_;
};

inline Ranks operator|(Ranks one, const Ranks& other) { return one |= other; }

}  // namespace plink::control
