#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ranks.hpp"
#include "request.hpp"

namespace plink::control {

constexpr std::uint64_t kMostPositions = 1 << 20;

/// How some ranks of a subtree announced a request.
struct Version {
    RequestRef request;
    Ranks ranks;
};
using Versions = std::vector<Version>;

/// Report about a request that has not been announced by all ranks of a subtree.
struct Waiting {
    std::string name;
    std::uint64_t waited_ms = 0;  ///< 0 in an answer to the root's question
    Ranks announced;              ///< ranks that are known to have announced the request
    Ranks answered = {};          ///< ranks whose answer to the root's question this is

    /// Add what another report about the same request says.
    void merge(const Waiting& other);
};

/// To the parent, about the sender's whole subtree.
struct Upward {
    std::uint64_t seen = 0;            ///< so many messages of the root the sender had taken
    std::vector<std::uint64_t> ready;  ///< positions of requests that all of it has announced
    /// Requests that all of it has announced, and that have no position, or not in all versions;
    /// requests together that share a tensor.
    std::vector<Versions> versions;
    Ranks joined;  ///< since the last message
    std::vector<Waiting> waiting;
    /// A number of messages, and the sender's digest after it.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> check;
    std::string failed;  ///< why nothing can go on; empty where all is well

    bool is_empty() const {
        return ready.empty() && versions.empty() && joined.empty() && waiting.empty() && !check &&
               failed.empty();
    }
};

/// A request of a batch: at a position, where it is put first if it is given.
struct Member {
    std::uint64_t position;
    RequestRef request;
};

/// From the root to all ranks; what it says happens in this order.
struct Downward {
    std::vector<std::vector<Member>> batches;                  ///< to be released
    bool joined = false;                                       ///< ranks contribute zeros
    std::vector<std::pair<std::string, std::string>> refused;  ///< names, and why
    std::optional<std::int64_t> last;   ///< all ranks have joined, this one last
    std::vector<std::string> warnings;  ///< for people
    /// Names, and for how many milliseconds some rank has waited: all are to say who below them has
    /// announced these.
    std::vector<std::pair<std::string, std::uint64_t>> stalled;
    std::string failed;  ///< why nothing goes on; empty where all is well

    bool is_empty() const {
        return batches.empty() && refused.empty() && warnings.empty() && stalled.empty() &&
               failed.empty() && !last;
    }
};

std::string packed(const Upward& message);
std::string packed(const Downward& message);
/// What `packed` made, among `ranks` ranks. They throw WireError for other bytes.
Upward upward_of(std::string_view data, std::int64_t ranks);
Downward downward_of(std::string_view data, std::int64_t ranks);

}  // namespace plink::control
