// Numbers in network byte order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plink {

inline void put16(uint8_t* out, uint32_t value) {
    out[0] = static_cast<uint8_t>(value >> 8);
    out[1] = static_cast<uint8_t>(value);
}

inline uint16_t get16(const uint8_t* in) { return static_cast<uint16_t>(in[0] << 8 | in[1]); }

}  // namespace plink
