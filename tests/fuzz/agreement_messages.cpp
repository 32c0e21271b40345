// Fuzzes the parsers of what ranks tell each other to agree on collectives by name. Invariants:
// what is refused is refused by WireError; what is taken is written and read again as the same
// bytes, and holds only ranks that there are.

#include <cstdint>
#include <string>

#include "check.hpp"
#include "cycle_messages.hpp"
#include "messages.hpp"
#include "wire.hpp"

using namespace plink::control;

namespace {

constexpr std::int64_t kMostRanks = 40;

bool are_there(const Ranks& ranks, std::int64_t count) {
    for (const auto& [first, last] : ranks.spans()) {
        if (first < 0 || last < first || last >= count) return false;
    }
    return true;
}

void check_upward(std::string_view data, std::int64_t ranks) {
    Upward message;
    try {
        message = upward_of(data, ranks);
    } catch (const WireError&) {
        return;
    }
    FUZZ_CHECK(are_there(message.joined, ranks));
    for (const Versions& versions : message.versions) {
        FUZZ_CHECK(!versions.empty());
        for (const Version& version : versions) {
            FUZZ_CHECK(are_there(version.ranks, ranks));
            FUZZ_CHECK(!version.request->tensors.empty());
            // For people: of any length, never without end.
            FUZZ_CHECK(!version.request->described().empty());
        }
    }
    for (const Waiting& waiting : message.waiting) {
        FUZZ_CHECK(are_there(waiting.announced, ranks) && are_there(waiting.answered, ranks));
    }
    const std::string written = packed(message);
    FUZZ_CHECK(packed(upward_of(written, ranks)) == written);
}

void check_downward(std::string_view data, std::int64_t ranks) {
    Downward message;
    try {
        message = downward_of(data, ranks);
    } catch (const WireError&) {
        return;
    }
    FUZZ_CHECK(!message.last || (*message.last >= 0 && *message.last < ranks));
    for (const auto& batch : message.batches) FUZZ_CHECK(!batch.empty());
    // Each message has one form.
    FUZZ_CHECK(packed(message) == data);
}

void check_response(std::string_view data, std::int64_t ranks) {
    try {
        const Response response = response_of(data, ranks);
        FUZZ_CHECK(are_there(response.joining, ranks));
        FUZZ_CHECK(packed(response) == data);
    } catch (const WireError&) {
    }
}

void check_sleep(std::string_view data) {
    try {
        FUZZ_CHECK(packed_sleep(sleep_of(data)) == data);
    } catch (const WireError&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::int64_t ranks = 1 + data[0] % kMostRanks;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    check_upward(bytes, ranks);
    check_downward(bytes, ranks);
    check_response(bytes, ranks);
    check_sleep(bytes);
    return 0;
}
