#pragma once

#include <cstddef>
#include <cstdint>

namespace plink::hub {

enum class Optimizer : std::uint8_t { kNone, kSgd, kMomentum, kAdam, kAdamW };

/// What an optimiser reads in a step, as `plink.hub.reference.Scalars`.
struct Scalars {
    float decay = 0;
    bool has_decay = false;
    float lr = 0;
    float momentum = 0;
    float undamped = 1;
    float less1 = 0;
    float beta2 = 0;
    float less2 = 0;
    float root2 = 1;
    float size = 0;
    float eps = 0;
    bool is_nesterov = false;
    bool is_first = false;  ///< step 1
    bool is_maximized = false;
};

/// One step of one chunk. No two arrays overlap.
struct Step {
    float* values;
    const float* sums;
    float* first;   ///< the momentum's buffer, or the mean of Adam; null where there is none
    float* second;  ///< the mean of squares of Adam
    std::size_t items;
    float divisor;  ///< how many contributions the sums have
    float scale;    ///< of the mean, from clipping; 1 for none
};

/// The inner loops, compiled for one instruction set. All of them compute what
/// `plink.hub.reference` does, bit for bit.
struct Steps {
    void (*apply[5])(const Step& step, const Scalars& scalars);
    /// sums = sums / divisor; returns the sum of their squares.
    double (*divide)(float* sums, std::size_t items, float divisor);
    /// into = scale * bytes, or into += that.
    void (*widen_int8)(float* into, const std::int8_t* bytes, std::size_t items, float scale);
    void (*add_int8)(float* into, const std::int8_t* bytes, std::size_t items, float scale);
};

/// The fastest that this processor runs.
const Steps& steps();
/// By name: baseline, avx2, avx512; null where it is not built or this processor cannot run it.
const Steps* steps_of(const char* instruction_set);

}  // namespace plink::hub
