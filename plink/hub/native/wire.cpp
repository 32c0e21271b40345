#include "wire.hpp"

#include <cmath>
#include <cstring>

#include "kernels.hpp"
#include "steps.hpp"

namespace plink::hub {

namespace {

constexpr std::size_t kScaleBytes = 4;
constexpr float kMostInt8 = 127.0F;
// Times 127 it is still finite; the greatest float over 127, rounded, is not.
constexpr float kMostScale = 2.6793884e36F;

std::size_t of(engine::DType type) { return static_cast<std::size_t>(type); }

engine::DType half_of(Wire wire) {
    return wire == Wire::kBfloat16 ? engine::DType::kBfloat16 : engine::DType::kFloat16;
}

float scale_at(const std::uint8_t* bytes) {
    float scale;
    std::memcpy(&scale, bytes, sizeof(scale));
    return scale;
}

const std::int8_t* numbers_at(const std::uint8_t* bytes) {
    return reinterpret_cast<const std::int8_t*>(bytes + kScaleBytes);
}

void narrow_int8(std::uint8_t* into, const float* values, std::size_t items) {
    float most = 0.0F;
    bool is_finite = true;
    for (std::size_t i = 0; i < items; ++i) {
        const float size = std::fabs(values[i]);
        is_finite = is_finite && std::isfinite(size);
        most = size > most ? size : most;
    }
    // What cannot be said so makes the whole chunk no number, so that nobody mistakes it for one.
    const float scale = is_finite ? std::fmin(most / kMostInt8, kMostScale) : NAN;
    std::memcpy(into, &scale, sizeof(scale));
    auto* const numbers = reinterpret_cast<std::int8_t*>(into + kScaleBytes);
    if (!(scale > 0.0F)) {
        std::memset(numbers, 0, items);
        return;
    }
    for (std::size_t i = 0; i < items; ++i) {
        const float number = std::nearbyintf(values[i] / scale);
        numbers[i] = static_cast<std::int8_t>(std::fmin(std::fmax(number, -kMostInt8), kMostInt8));
    }
}

}  // namespace

std::size_t wire_bytes(Wire wire, std::size_t items) {
    switch (wire) {
        case Wire::kFloat32:
            return items * 4;
        case Wire::kInt8:
            return items + kScaleBytes;
        default:
            return items * 2;
    }
}

void widen(Wire wire, float* into, const std::uint8_t* bytes, std::size_t items) {
    switch (wire) {
        case Wire::kFloat32:
            std::memcpy(into, bytes, items * sizeof(float));
            return;
        case Wire::kInt8:
            steps().widen_int8(into, numbers_at(bytes), items, scale_at(bytes));
            return;
        default:
            engine::kernels().widen[of(half_of(wire))](into, bytes, items);
    }
}

void add(Wire wire, float* into, const std::uint8_t* bytes, std::size_t items) {
    switch (wire) {
        case Wire::kFloat32:
            engine::kernels().accumulate[of(engine::DType::kFloat32)][static_cast<std::size_t>(
                engine::Op::kSum)](into, bytes, items);
            return;
        case Wire::kInt8:
            steps().add_int8(into, numbers_at(bytes), items, scale_at(bytes));
            return;
        default:
            engine::kernels().add_widened[of(half_of(wire))](into, bytes, items);
    }
}

void narrow(Wire wire, std::uint8_t* into, const float* values, std::size_t items) {
    if (wire == Wire::kInt8) {
        narrow_int8(into, values, items);
    } else {
        engine::kernels().narrow[of(half_of(wire))](into, values, items, 1.0F);
    }
}

}  // namespace plink::hub
