#include "sweeps.hpp"

#include <algorithm>

namespace plink::control {

Sweeps::Sweeps(const Place& place) {
    for (const auto& [child, below] : place.children) come_.emplace_back(child, 0);
}

void Sweeps::begin(std::uint8_t kind) {
    kind_ = kind;
    is_passed_on_ = false;
}

void Sweeps::hear(std::int64_t child, std::string message) {
    for (auto& [rank, come] : come_) {
        if (rank == child) come.push_back(std::move(message));
    }
}

void Sweeps::lose(std::int64_t child) {
    come_.erase(std::remove_if(come_.begin(), come_.end(),
                               [child](const auto& one) { return one.first == child; }),
                come_.end());
}

std::optional<Values> Sweeps::take() {
    if (!kind_ || is_passed_on_) return std::nullopt;
    for (const auto& [child, come] : come_) {
        if (come.empty()) return std::nullopt;
    }
    for (const auto& [child, come] : come_) {
        if (static_cast<std::uint8_t>(come.front().front()) != *kind_) throw OutOfStepError(child);
    }
    is_passed_on_ = true;
    Values values;
    for (auto& [child, come] : come_) {
        values.emplace_back(child, come.front().substr(1));
        come.pop_front();
    }
    return values;
}

}  // namespace plink::control
