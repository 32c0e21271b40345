#include "ranks.hpp"

#include <algorithm>

namespace plink::control {

namespace {

constexpr std::size_t kMostRanks = 3;

}  // namespace

Ranks Ranks::below(std::int64_t ranks) { return ranks > 0 ? Ranks({{0, ranks - 1}}) : Ranks(); }

std::int64_t Ranks::size() const {
    std::int64_t size = 0;
    for (const auto& [first, last] : spans_) size += last - first + 1;
    return size;
}

bool Ranks::contains(std::int64_t rank) const {
    return std::any_of(spans_.begin(), spans_.end(), [rank](const auto& span) {
        return span.first <= rank && rank <= span.second;
    });
}

Ranks& Ranks::operator|=(const Ranks& other) {
    if (other.spans_.empty()) return *this;
    Spans all = spans_;
    all.insert(all.end(), other.spans_.begin(), other.spans_.end());
    std::sort(all.begin(), all.end());
    spans_.clear();
    for (const auto& [first, last] : all) {
        if (!spans_.empty() && first <= spans_.back().second + 1) {
            spans_.back().second = std::max(spans_.back().second, last);
        } else {
            spans_.emplace_back(first, last);
        }
    }
    return *this;
}

Ranks Ranks::operator-(const Ranks& other) const {
    Spans left;
    for (const auto& [first, last] : spans_) {
        std::int64_t start = first;
        for (const auto& [lost_first, lost_last] : other.spans_) {
            if (lost_last < start || lost_first > last) continue;
            if (lost_first > start) left.emplace_back(start, lost_first - 1);
            start = lost_last + 1;
        }
        if (start <= last) left.emplace_back(start, last);
    }
    return Ranks(std::move(left));
}

std::string Ranks::described() const {
    std::string text = size() == 1 ? "rank " : "ranks ";
    std::int64_t hidden = 0;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
        const auto& [first, last] = spans_[i];
        if (i >= kMostRanks) {
            hidden += last - first + 1;
            continue;
        }
        if (i > 0) text += ", ";
        text += std::to_string(first);
        if (last != first) text += "-" + std::to_string(last);
    }
    if (hidden > 0) text += " and " + std::to_string(hidden) + " more";
    return text;
}

}  // namespace plink::control
