#include "marks.hpp"

#include <algorithm>
#include <limits>

namespace plink::control {

Marks::Marks(const Place& place) {
    said_[place.rank];
    for (const auto& [child, below] : place.children) said_[child];
}

double Marks::oldest_s() const {
    const std::uint64_t oldest = line_.front();
    return oldest == Line::kNone ? std::numeric_limits<double>::infinity() : since_s_[oldest];
}

std::optional<std::uint64_t> Marks::mark(std::int64_t source,
                                         const std::vector<std::uint64_t>& positions,
                                         double now_s) {
    Bits& said = said_.at(source);
    for (const std::uint64_t position : positions) {
        if (said.test(position)) return position;
        said.set(position);
        news_.set(position / Bits::kWord);
        if (marked_.test(position)) continue;
        marked_.set(position);
        if (since_s_.size() <= position) since_s_.resize(position + 1);
        since_s_[position] = now_s;
        line_.add(position);
    }
    return std::nullopt;
}

bool Marks::has_none(std::int64_t source, const std::vector<std::uint64_t>& positions) const {
    const Bits& said = said_.at(source);
    if (std::any_of(positions.begin(), positions.end(),
                    [&said](std::uint64_t position) { return said.test(position); })) {
        return false;
    }
    // Most are announced alone.
    return positions.size() < 2 ||
           std::set<std::uint64_t>(positions.begin(), positions.end()).size() == positions.size();
}

void Marks::look_again() {
    for (const std::uint64_t position : marked_.positions()) news_.set(position / Bits::kWord);
}

std::vector<std::uint64_t> Marks::complete(const std::set<std::int64_t>& sources) {
    std::vector<std::uint64_t> complete;
    for (const std::uint64_t at : news_.positions()) {
        std::uint64_t word = marked_.word(at) & ~passed_on_.word(at);
        for (const auto& [source, said] : said_) {
            if (sources.count(source) > 0) word &= said.word(at);
        }
        for (; word != 0; word &= word - 1) {
            const std::uint64_t position =
                at * Bits::kWord + static_cast<unsigned>(__builtin_ctzll(word));
            passed_on_.set(position);
            complete.push_back(position);
        }
    }
    news_ = {};
    return complete;
}

std::vector<std::int64_t> Marks::sources(std::uint64_t position) const {
    std::vector<std::int64_t> sources;
    for (const auto& [source, said] : said_) {
        if (said.test(position)) sources.push_back(source);
    }
    return sources;
}

void Marks::forget(std::uint64_t position) {
    if (!marked_.test(position)) return;
    for (auto& [source, said] : said_) said.reset(position);
    marked_.reset(position);
    passed_on_.reset(position);
    line_.remove(position);
}

void Marks::clear() {
    for (auto& [source, said] : said_) said = {};
    marked_ = passed_on_ = news_ = {};
    line_.clear();
}

}  // namespace plink::control
