#include "utf8.hpp"

#include <cstdint>
#include <utility>

namespace plink::control {

namespace {

/// How many bytes the next character takes, or the beginning of one that does not go on; and
/// whether it is whole.
std::pair<std::size_t, bool> next_character(std::string_view text) {
    const auto byte = [text](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return {1, true};
    std::size_t more = 0;
    // Of the second byte.
    unsigned least = 0x80;
    unsigned most = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
        more = 1;
    } else if (first >= 0xE0 && first <= 0xEF) {
        more = 2;
        if (first == 0xE0) least = 0xA0;
        if (first == 0xED) most = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
        more = 3;
        if (first == 0xF0) least = 0x90;
        if (first == 0xF4) most = 0x8F;
    } else {
        return {1, false};
    }
    for (std::size_t i = 1; i <= more; ++i) {
        if (byte(i) < least || byte(i) > most) return {i, false};
        least = 0x80;
        most = 0xBF;
    }
    return {more + 1, true};
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto [size, is_whole] = next_character(text);
        if (!is_whole) return false;
        text.remove_prefix(size);
    }
    return true;
}

std::string as_utf8(std::string_view text) {
    std::string valid;
    while (!text.empty()) {
        const auto [size, is_whole] = next_character(text);
        valid += is_whole ? text.substr(0, size) : "\xEF\xBF\xBD";
        text.remove_prefix(size);
    }
    return valid;
}

}  // namespace plink::control
