#include "cycle_messages.hpp"

#include <algorithm>

#include "wire.hpp"

namespace plink::control {

namespace {

constexpr std::uint64_t kMostSleep_us = 1'000'000'000;

}  // namespace

std::string packed(const Response& response) {
    Writer writer;
    writer.ranks(response.joining);
    writer.number(response.bound);
    writer.number(response.stalled.size());
    for (const auto& [name, waited_ms] : response.stalled) {
        writer.text(name);
        writer.number(waited_ms);
    }
    return writer.done() + packed(response.said);
}

Response response_of(std::string_view data, std::int64_t ranks) {
    Reader reader(data);
    Response response;
    response.joining = reader.ranks(ranks);
    response.bound = reader.number(kMostPositions);
    for (std::uint64_t left = reader.number(kMostPositions); left > 0; --left) {
        std::string name = reader.text();
        response.stalled.emplace_back(std::move(name), reader.number());
    }
    response.said = downward_of(reader.rest(), ranks);
    return response;
}

std::string packed_sleep(std::uint64_t sleep_us) {
    Writer writer;
    writer.number(std::min(sleep_us, kMostSleep_us));
    return writer.done();
}

std::uint64_t sleep_of(std::string_view data) {
    Reader reader(data);
    const std::uint64_t sleep_us = reader.number(kMostSleep_us);
    if (!reader.is_at_end()) throw WireError("a message has more than belongs to it");
    return sleep_us;
}

}  // namespace plink::control
