// An input read as choices, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plink::fuzz {

class Script {
  public:
    /// The last byte says whether what was begun is to be brought to its end.
    Script(const std::uint8_t* data, std::size_t size)
        : at_(data), end_(data + size), is_whole_(size > 0 && data[size - 1] % 2 == 1) {}

    bool is_over() const { return at_ == end_; }
    bool goes_on_to_the_end() const { return is_whole_; }

    /// From 0 to `limit` - 1; 0 once it is over.
    int below(int limit) {
        if (limit <= 1) return 0;
        unsigned value = byte();
        if (limit > 256) value = value << 8 | byte();
        return static_cast<int>(value % static_cast<unsigned>(limit));
    }

    std::vector<std::uint8_t> bytes(std::size_t size) {
        size = std::min(size, static_cast<std::size_t>(end_ - at_));
        at_ += size;
        return {at_ - size, at_};
    }

  private:
    unsigned byte() { return at_ == end_ ? 0 : *at_++; }

    const std::uint8_t* at_;
    const std::uint8_t* const end_;
    const bool is_whole_;
};

}  // namespace plink::fuzz
