#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plink::control {

/// A set of numbers from 0 on, as bits of which no end is told.
class Bits {
  public:
    static constexpr unsigned kWord = 64;

    Bits() = default;
    /// 0 to `count` - 1.
    static Bits below(std::size_t count);
    /// The lowest bits are those of a number.
    static Bits of(std::uint64_t value) { return Bits({value}); }
    /// What `packed` made of at most `count` bits. Throws WireError where there are more.
    static Bits parsed(std::string_view data, std::size_t count);

    /// As bytes, the lowest bits first, without zeros at the end.
    std::string packed() const;
    bool any() const;
    bool test(std::uint64_t bit) const { return (word(bit / kWord) >> bit % kWord & 1) != 0; }
    /// 64 of them, of which the lowest is 64 times `at`.
    std::uint64_t word(std::uint64_t at) const { return at < words_.size() ? words_[at] : 0; }
    void set(std::uint64_t bit) {
        if (words_.size() <= bit / kWord) words_.resize(bit / kWord + 1);
        words_[bit / kWord] |= std::uint64_t{1} << bit % kWord;
    }
    void reset(std::uint64_t bit) {
        if (bit / kWord < words_.size()) words_[bit / kWord] &= ~(std::uint64_t{1} << bit % kWord);
    }
    Bits& operator&=(const Bits& other);
    Bits& operator|=(const Bits& other);
    /// Those that are not in `other`.
    Bits& operator-=(const Bits& other);
    /// Each higher by `count`, less than 64.
    Bits up(unsigned count) const;
    /// Each lower by `count`, less than 64; those below it are no more.
    Bits down(unsigned count) const;
    /// The lowest 64.
    std::uint64_t low() const { return words_.empty() ? 0 : words_.front(); }
    /// Ascending.
    std::vector<std::uint64_t> positions() const;

  private:
    using Words = std::vector<std::uint64_t>;

    explicit Bits(Words words) : words_(std::move(words)) {}

    Words words_;
};

}  // namespace plink::control
