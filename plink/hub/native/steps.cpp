// Compiled once for every instruction set that is worth it, each time into its own namespace
// (PLINK_STEPS). Uses no inline function of the standard library: the linker keeps one copy of
// those, and it might keep one that other processors cannot run.

#include "steps.hpp"

namespace plink::hub::PLINK_STEPS {

namespace {

/// A sum that becomes the gradient: mean, clipped, and turned round where the aim is the most.
struct Gradient {
    float divisor;
    float scale;
    float operator()(float sum) const { return sum / divisor * scale; }
};

Gradient gradient_of(const Step& step, const Scalars& s) {
    return {step.divisor, s.is_maximized ? -step.scale : step.scale};
}

void none(const Step& step, const Scalars& s) {
    float* __restrict p = step.values;
    const float* __restrict sums = step.sums;
    const Gradient gradient = gradient_of(step, s);
    for (std::size_t i = 0; i < step.items; ++i) p[i] = gradient(sums[i]);
}

template <bool kDecays>
void sgd(const Step& step, const Scalars& s) {
    float* __restrict p = step.values;
    const float* __restrict sums = step.sums;
    const Gradient gradient = gradient_of(step, s);
    for (std::size_t i = 0; i < step.items; ++i) {
        float g = gradient(sums[i]);
        if constexpr (kDecays) g = g + s.decay * p[i];
        p[i] = p[i] - s.lr * g;
    }
}

enum class Direction { kFirst, kBuffer, kNesterov, kFirstNesterov };

template <bool kDecays, Direction kDirection>
void momentum(const Step& step, const Scalars& s) {
    float* __restrict p = step.values;
    float* __restrict b = step.first;
    const float* __restrict sums = step.sums;
    const Gradient gradient = gradient_of(step, s);
    constexpr bool kIsFirst =
        kDirection == Direction::kFirst || kDirection == Direction::kFirstNesterov;
    constexpr bool kIsNesterov =
        kDirection == Direction::kNesterov || kDirection == Direction::kFirstNesterov;
    for (std::size_t i = 0; i < step.items; ++i) {
        float g = gradient(sums[i]);
        if constexpr (kDecays) g = g + s.decay * p[i];
        float buffer = g;
        if constexpr (!kIsFirst) buffer = s.momentum * b[i] + s.undamped * g;
        b[i] = buffer;
        if constexpr (kIsNesterov) buffer = g + s.momentum * buffer;
        p[i] = p[i] - s.lr * buffer;
    }
}

template <bool kDecays>
void momentum_of(const Step& step, const Scalars& s) {
    if (s.momentum == 0.0F) {
        sgd<kDecays>(step, s);
    } else if (s.is_first && s.is_nesterov) {
        momentum<kDecays, Direction::kFirstNesterov>(step, s);
    } else if (s.is_first) {
        momentum<kDecays, Direction::kFirst>(step, s);
    } else if (s.is_nesterov) {
        momentum<kDecays, Direction::kNesterov>(step, s);
    } else {
        momentum<kDecays, Direction::kBuffer>(step, s);
    }
}

enum class Decay { kNone, kGradient, kValue };

template <Decay kDecay>
void adam(const Step& step, const Scalars& s) {
    float* __restrict p = step.values;
    float* __restrict m = step.first;
    float* __restrict v = step.second;
    const float* __restrict sums = step.sums;
    const Gradient gradient = gradient_of(step, s);
    for (std::size_t i = 0; i < step.items; ++i) {
        float g = gradient(sums[i]);
        float value = p[i];
        if constexpr (kDecay == Decay::kGradient) g = g + s.decay * value;
        if constexpr (kDecay == Decay::kValue) value = value * s.decay;
        const float mean = m[i] + s.less1 * (g - m[i]);
        const float square = s.beta2 * v[i] + (s.less2 * g) * g;
        m[i] = mean;
        v[i] = square;
        p[i] = value - (s.size * mean) / (__builtin_sqrtf(square) / s.root2 + s.eps);
    }
}

void apply_sgd(const Step& step, const Scalars& s) {
    s.has_decay ? sgd<true>(step, s) : sgd<false>(step, s);
}
void apply_momentum(const Step& step, const Scalars& s) {
    s.has_decay ? momentum_of<true>(step, s) : momentum_of<false>(step, s);
}
void apply_adam(const Step& step, const Scalars& s) {
    s.has_decay ? adam<Decay::kGradient>(step, s) : adam<Decay::kNone>(step, s);
}
void apply_adamw(const Step& step, const Scalars& s) {
    s.has_decay ? adam<Decay::kValue>(step, s) : adam<Decay::kNone>(step, s);
}

constexpr std::size_t kLanes = 8;

double divide(float* sums, std::size_t items, float divisor) {
    float* __restrict at = sums;
    double lanes[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= items; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const float mean = at[i + lane] / divisor;
            at[i + lane] = mean;
            lanes[lane] += static_cast<double>(mean) * static_cast<double>(mean);
        }
    }
    for (std::size_t lane = 0; i < items; ++i, ++lane) {
        at[i] = at[i] / divisor;
        lanes[lane] += static_cast<double>(at[i]) * static_cast<double>(at[i]);
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
}

void widen_int8(float* into, const std::int8_t* bytes, std::size_t items, float scale) {
    float* __restrict target = into;
    const std::int8_t* __restrict source = bytes;
    for (std::size_t i = 0; i < items; ++i) target[i] = scale * static_cast<float>(source[i]);
}

void add_int8(float* into, const std::int8_t* bytes, std::size_t items, float scale) {
    float* __restrict target = into;
    const std::int8_t* __restrict source = bytes;
    for (std::size_t i = 0; i < items; ++i) {
        target[i] = target[i] + scale * static_cast<float>(source[i]);
    }
}

constexpr Steps kSteps = {
    {none, apply_sgd, apply_momentum, apply_adam, apply_adamw},
    divide,
    widen_int8,
    add_int8,
};

}  // namespace

extern const Steps& table;
const Steps& table = kSteps;

}  // namespace plink::hub::PLINK_STEPS
