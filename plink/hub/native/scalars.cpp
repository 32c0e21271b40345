#include "scalars.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace plink::hub {

namespace {

constexpr int kNesterov = 1;
constexpr int kMaximize = 2;
constexpr double kClipEps = 1e-6;
constexpr std::size_t kNumbers = kHyperBytes / sizeof(double);
constexpr int kFewDigits = 6;
constexpr int kAllDigits = 17;

double number_at(const std::uint8_t* at) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

std::string text_of(double number, int digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*g", digits, number);
    return text;
}

/// By squaring from the lowest bit on: the library's own rounds differently from one to another.
double power(double base, std::uint64_t exponent) {
    double result = 1.0;
    while (exponent != 0) {
        if (exponent & 1) result *= base;
        exponent >>= 1;
        if (exponent != 0) base *= base;
    }
    return result;
}

Hyper decode_hyper(const std::uint8_t* at) {
    double numbers[8];
    for (std::size_t i = 0; i < 8; ++i) {
        numbers[i] = number_at(at + i * sizeof(double));
        if (!std::isfinite(numbers[i])) {
            throw std::runtime_error("it sent a hyperparameter that is not finite");
        }
    }
    const int flags = numbers[7] >= 0.0 && numbers[7] <= 3.0 ? static_cast<int>(numbers[7]) : -1;
    if (static_cast<double>(flags) != numbers[7] || numbers[4] < 0.0 || numbers[4] >= 1.0 ||
        numbers[5] < 0.0 || numbers[5] >= 1.0) {
        throw std::runtime_error("it sent hyperparameters that cannot be");
    }
    return {numbers[0],
            numbers[1],
            numbers[2],
            numbers[3],
            numbers[4],
            numbers[5],
            numbers[6],
            (flags & kNesterov) != 0,
            (flags & kMaximize) != 0};
}

}  // namespace

std::vector<Hyper> decode_hypers(const std::uint8_t* bytes, std::size_t size, std::size_t groups) {
    if (size != groups * kHyperBytes) {
        throw std::runtime_error("it sent hyperparameters of another number of groups");
    }
    std::vector<Hyper> hypers;
    hypers.reserve(groups);
    for (std::size_t i = 0; i < groups; ++i)
        hypers.push_back(decode_hyper(bytes + i * kHyperBytes));
    return hypers;
}

Difference difference(const std::uint8_t* one, const std::uint8_t* other, std::size_t groups) {
    static constexpr const char* kNames[] = {"lr",    "momentum", "dampening", "weight decay",
                                             "beta1", "beta2",    "eps",       "form"};
    for (std::size_t i = 0; i < groups * kNumbers; ++i) {
        const double number = number_at(one + i * sizeof(double));
        const double its = number_at(other + i * sizeof(double));
        if (number == its) continue;
        Difference found{kNames[i % kNumbers], text_of(number, kFewDigits),
                         text_of(its, kFewDigits)};
        found.what += " of group " + std::to_string(i / kNumbers);
        if (found.one == found.other) {
            found.one = text_of(number, kAllDigits);
            found.other = text_of(its, kAllDigits);
        }
        return found;
    }
    return {"a sign of 0", "+", "-"};
}

Scalars scalars_of(Optimizer optimizer, const Hyper& hyper, std::uint64_t step) {
    Scalars scalars;
    const double decay =
        optimizer == Optimizer::kAdamW ? 1.0 - hyper.lr * hyper.weight_decay : hyper.weight_decay;
    scalars.decay = static_cast<float>(decay);
    scalars.has_decay = hyper.weight_decay != 0.0;
    scalars.lr = static_cast<float>(hyper.lr);
    scalars.momentum = static_cast<float>(hyper.momentum);
    scalars.undamped = static_cast<float>(1.0 - hyper.dampening);
    scalars.less1 = static_cast<float>(1.0 - hyper.beta1);
    scalars.beta2 = static_cast<float>(hyper.beta2);
    scalars.less2 = static_cast<float>(1.0 - hyper.beta2);
    scalars.root2 = static_cast<float>(std::sqrt(1.0 - power(hyper.beta2, step)));
    scalars.size = static_cast<float>(hyper.lr / (1.0 - power(hyper.beta1, step)));
    scalars.eps = static_cast<float>(hyper.eps);
    scalars.is_nesterov = hyper.is_nesterov;
    scalars.is_first = step == 1;
    scalars.is_maximized = hyper.is_maximized;
    return scalars;
}

float clip_scale(double norm, double clip) {
    if (clip <= 0.0 || clip / (norm + kClipEps) >= 1.0) return 1.0F;
    return static_cast<float>(clip / (norm + kClipEps));
}

}  // namespace plink::hub
