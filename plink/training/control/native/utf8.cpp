#include "utf8.hpp"

#include <cstdint>

namespace plink::control {

bool is_utf8(std::string_view text) {
    const auto byte = [text](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<std::uint8_t>(text[i]) : 0;
    };
    const auto is_between = [&byte](std::size_t i, unsigned least, unsigned most) {
        return byte(i) >= least && byte(i) <= most;
    };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned first = byte(i);
        if (first < 0x80) {
            ++i;
        } else if (first >= 0xC2 && first <= 0xDF && is_between(i + 1, 0x80, 0xBF)) {
            i += 2;
        } else if (first >= 0xE0 && first <= 0xEF &&
                   is_between(i + 1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) &&
                   is_between(i + 2, 0x80, 0xBF)) {
            i += 3;
        } else if (first >= 0xF0 && first <= 0xF4 &&
                   is_between(i + 1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) &&
                   is_between(i + 2, 0x80, 0xBF) && is_between(i + 3, 0x80, 0xBF)) {
            i += 4;
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace plink::control
