#include "bits.hpp"

#include <algorithm>

#include "wire.hpp"

namespace plink::control {

Bits Bits::below(std::size_t count) {
    Words words(count / kWord, ~std::uint64_t{0});
    if (count % kWord > 0) words.push_back((std::uint64_t{1} << count % kWord) - 1);
    return Bits(std::move(words));
}

Bits Bits::parsed(std::string_view data, std::size_t count) {
    while (!data.empty() && data.back() == 0) data.remove_suffix(1);
    Words words((data.size() + 7) / 8);
    for (std::size_t i = 0; i < data.size(); ++i) {
        words[i / 8] |= std::uint64_t{static_cast<std::uint8_t>(data[i])} << (8 * (i % 8));
    }
    Bits bits(std::move(words));
    if (Bits more = bits; (more -= below(count)).any()) {
        throw WireError("a bit vector has more than " + std::to_string(count) + " bits");
    }
    return bits;
}

std::string Bits::packed() const {
    std::string data;
    for (const std::uint64_t word : words_) {
        for (unsigned shift = 0; shift < kWord; shift += 8) {
            data.push_back(static_cast<char>(word >> shift));
        }
    }
    data.resize(data.find_last_not_of('\0') + 1);
    return data;
}

bool Bits::any() const {
    return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
}

Bits& Bits::operator&=(const Bits& other) {
    words_.resize(std::min(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
}

Bits& Bits::operator|=(const Bits& other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
}

Bits& Bits::operator-=(const Bits& other) {
    const std::size_t both = std::min(words_.size(), other.words_.size());
    for (std::size_t i = 0; i < both; ++i) words_[i] &= ~other.words_[i];
    return *this;
}

Bits Bits::up(unsigned count) const {
    if (count == 0) return *this;
    Words words(words_.size() + 1);
    for (std::size_t i = 0; i < words_.size(); ++i) {
        words[i] |= words_[i] << count;
        words[i + 1] = words_[i] >> (kWord - count);
    }
    return Bits(std::move(words));
}

Bits Bits::down(unsigned count) const {
    if (count == 0) return *this;
    Words words(words_.size());
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::uint64_t above = i + 1 < words_.size() ? words_[i + 1] : 0;
        words[i] = words_[i] >> count | above << (kWord - count);
    }
    return Bits(std::move(words));
}

std::vector<std::uint64_t> Bits::positions() const {
    std::vector<std::uint64_t> positions;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
            positions.push_back(i * kWord + static_cast<unsigned>(__builtin_ctzll(left)));
        }
    }
    return positions;
}

}  // namespace plink::control
