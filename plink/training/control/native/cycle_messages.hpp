#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages.hpp"

namespace plink::control {

/// The rounds: in each, values go up the tree of ranks and one result comes down. Outside of
/// rounds, `kFail`: nothing goes on.
enum RoundKind : std::uint8_t { kRequests, kAnd, kOr, kSleep, kFail };

/// Status bits before those of positions. They travel inverted: under AND one 0 is heard by all.
constexpr std::uint64_t kShutdown = 1;
constexpr std::uint64_t kUncached = 2;
constexpr std::uint64_t kInvalid = 4;
constexpr unsigned kStatusBits = 3;
constexpr std::uint64_t kStatus = (1 << kStatusBits) - 1;

/// Names, and for how many milliseconds some rank has waited for each.
using Stalled = std::vector<std::pair<std::string, std::uint64_t>>;

/// From the coordinator to all ranks.
struct Response {
    Downward said;            ///< what happens
    Ranks joining;            ///< ranks that count as joined from the next cycle on
    std::uint64_t bound = 0;  ///< of the cache from now on; 0 where there is none
    Stalled stalled;          ///< all are to say who below them has announced these
};

std::string packed(const Response& response);
/// What `packed` made, among `ranks` ranks. Throws WireError for other bytes.
Response response_of(std::string_view data, std::int64_t ranks);

std::string packed_sleep(std::uint64_t sleep_us);
/// What `packed_sleep` made. Throws WireError for other bytes.
std::uint64_t sleep_of(std::string_view data);

}  // namespace plink::control
