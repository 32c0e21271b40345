// Fuzzes what an agent reads from its standard input. Invariants: what it keeps is bounded, every
// pair names a peer that it knows, and it does not matter in which pieces the text arrives.

#include "probes/echo/agent/control.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "check.hpp"

using plink::Control;
using plink::Grant;
using plink::Run;

namespace {

constexpr size_t kMaxPairs = 1 << 17;
constexpr size_t kMaxPercentiles = 16;

const char* const kOpening =
    "run 1 5 400 granted 00112233445566778899aabbccddeeff\npercentiles 10 50\n"
    "bind 127.0.0.1 0\n";
const char* const kSchedule = "peer 0 127.0.0.1 1\npeer 1 ::1 2\npair 0 0 probe\n";

// What is left of a conversation.
struct Outcome {
    Run run;
    Control::Status status = Control::Status::open;
    size_t grants = 0;
    std::string broken_word;
};

// `piece` bytes at a time.
Outcome hear(const std::string& text, size_t piece) {
    Outcome outcome;
    Control control;
    for (size_t begin = 0; begin < text.size() && outcome.status == Control::Status::open;
         begin += piece) {
        size_t size = std::min(piece, text.size() - begin);
        outcome.status = control.take(text.data() + begin, size, &outcome.run);
    }
    Grant grant;
    while (control.take_grant(&grant)) ++outcome.grants;
    outcome.broken_word = control.broken_word();
    FUZZ_CHECK(!control.has_start() || control.has_run());
    FUZZ_CHECK(!control.has_run() || (outcome.run.count > 0 && !outcome.run.percentiles.empty()));
    return outcome;
}

void check(const Outcome& outcome) {
    const Run& run = outcome.run;
    FUZZ_CHECK(run.pairs.size() <= kMaxPairs && outcome.grants <= kMaxPairs);
    FUZZ_CHECK(outcome.broken_word.size() <= 40);
    if (outcome.status != Control::Status::broken) {
        FUZZ_CHECK(run.percentiles.size() <= kMaxPercentiles);
        for (double percentile : run.percentiles) {
            FUZZ_CHECK(percentile >= 0.0 && percentile <= 100.0);
        }
        for (const plink::Pair& pair : run.pairs) {
            FUZZ_CHECK(run.peers.find(pair.partner) != nullptr && pair.partner != run.index);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    // `alive` is answered on standard output.
    return std::freopen("/dev/null", "w", stdout) == nullptr;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    std::string text;
    if (data[0] % 4 >= 1) text += kOpening;
    if (data[0] % 4 >= 2) text += kSchedule;
    if (data[0] % 4 == 3) text += "start\n";
    text.append(reinterpret_cast<const char*>(data + 2), size - 2);
    Outcome whole = hear(text, text.size() + 1);
    Outcome pieces = hear(text, 1 + data[1]);
    check(whole);
    check(pieces);
    FUZZ_CHECK(whole.status == pieces.status && whole.grants == pieces.grants);
    FUZZ_CHECK(whole.run.pairs.size() == pieces.run.pairs.size());
    return 0;
}
