#include "digest.hpp"

#include <array>

namespace plink::control {

namespace {

constexpr std::array<std::uint32_t, 256> table() {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320 : 0);
        entries[i] = value;
    }
    return entries;
}

constexpr std::array<std::uint32_t, 256> kTable = table();

}  // namespace

std::uint32_t crc32(std::string_view data) {
    std::uint32_t value = 0xFFFFFFFF;
    for (const char c : data)
        value = value >> 8 ^ kTable[(value ^ static_cast<std::uint8_t>(c)) & 0xFF];
    return ~value;
}

}  // namespace plink::control
