#pragma once

#include <cstddef>
#include <cstdint>

namespace plink::hub {

/// In which type gradients travel. Those of 8 bits have a float32 scale a chunk before them.
enum class Wire : std::uint8_t { kFloat32, kBfloat16, kFloat16, kInt8 };

std::size_t wire_bytes(Wire wire, std::size_t items);

/// into = what travelled, or into += that, at any alignment of `bytes`.
void widen(Wire wire, float* into, const std::uint8_t* bytes, std::size_t items);
void add(Wire wire, float* into, const std::uint8_t* bytes, std::size_t items);

/// What travels; `into` has room for `wire_bytes`. Not for float32, which travels as it is.
void narrow(Wire wire, std::uint8_t* into, const float* values, std::size_t items);

}  // namespace plink::hub
