// Fuzzes one rank's machine of mode `tree`, by an input that is read as its place and a script of
// deeds: announcements, messages of parent, children and strangers in order and out of it, spoilt
// ones and noise, joins, losses, time. Invariants: no deed throws, messages go to parent and
// children only and can be read, nothing is released or refused that was not announced unless the
// rank's parent said so, and after the end only refusals follow.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "messages.hpp"
#include "script.hpp"
#include "tree.hpp"
#include "wire.hpp"

using namespace plink::control;
using plink::fuzz::Script;

namespace {

constexpr int kRanks = 5;
constexpr int kNames = 5;

std::string name_of(int number) { return std::string(1, static_cast<char>('a' + number)); }

RequestRef any_request(Script& script) {
    auto request = std::make_shared<Request>();
    request->name = name_of(script.below(kNames));
    request->kind = script.below(8) == 0 ? "broadcast" : kAllReduce;
    request->op = script.below(8) == 0 ? "max" : "sum";
    request->device = "cpu";
    const int members = script.below(4) == 0 ? 1 + script.below(3) : 0;
    for (int i = 0; i < std::max(1, members); ++i) {
        request->tensors.push_back({0, {script.below(4)}});
        if (members > 0) request->members.push_back(name_of(script.below(kNames)));
    }
    return request;
}

Ranks any_ranks(Script& script) {
    Ranks ranks;
    for (int left = script.below(3); left >= 0; --left) ranks |= Ranks::of(script.below(kRanks));
    return ranks;
}

Upward any_upward(Script& script, std::uint64_t taken) {
    Upward message;
    message.seen = taken - static_cast<std::uint64_t>(script.below(
                               static_cast<int>(std::min<std::uint64_t>(taken, 3)) + 1));
    for (int left = script.below(3); left > 0; --left) message.ready.push_back(script.below(6));
    for (int left = script.below(3); left > 0; --left) {
        Versions versions;
        for (int more = script.below(3); more >= 0; --more) {
            RequestRef request = any_request(script);
            versions.push_back({std::move(request), any_ranks(script)});
        }
        message.versions.push_back(std::move(versions));
    }
    if (script.below(6) == 0) message.joined = any_ranks(script);
    if (script.below(6) == 0) {
        message.waiting.push_back({name_of(script.below(kNames)),
                                   static_cast<std::uint64_t>(script.below(3000)),
                                   any_ranks(script)});
    }
    if (script.below(30) == 0) message.check = {taken, 7};
    if (script.below(30) == 0) message.failed = "it is broken";
    return message;
}

Downward any_downward(Script& script) {
    Downward message;
    for (int left = script.below(3); left > 0; --left) {
        std::vector<Member> batch;
        for (int more = script.below(2); more >= 0; --more) {
            const auto position = static_cast<std::uint64_t>(script.below(4));
            batch.push_back({position, script.below(2) == 0 ? any_request(script) : nullptr});
        }
        message.batches.push_back(std::move(batch));
    }
    message.joined = script.below(8) == 0;
    for (int left = script.below(3); left > 0; --left) {
        message.refused.emplace_back(name_of(script.below(kNames)), "it cannot be");
    }
    if (script.below(12) == 0) message.last = script.below(kRanks);
    if (script.below(8) == 0) message.warnings.push_back("it waits");
    if (script.below(4) == 0) message.stalled.emplace_back(name_of(script.below(kNames)), 900);
    if (script.below(40) == 0) message.failed = "nothing goes on";
    return message;
}

std::string spoilt(Script& script, std::string bytes) {
    if (script.below(8) != 0 || bytes.empty()) return bytes;
    bytes[script.below(static_cast<int>(bytes.size()))] = static_cast<char>(script.below(256));
    return bytes;
}

/// Below rank 4, or at the root of all: rank 0 with children 1, which has 2 below it, and 3.
Place place_of(bool is_root) {
    Place place;
    place.rank = 0;
    place.ranks = kRanks;
    if (!is_root) place.parent = 4;
    Ranks below = Ranks::of(1);
    below |= Ranks::of(2);
    Ranks last = Ranks::of(3);
    if (is_root) last |= Ranks::of(4);
    place.children = {{1, below}, {3, last}};
    return place;
}

Event any_event(Script& script, const Tree& machine, bool is_root) {
    switch (script.below(12)) {
        case 0:
        case 1:
        case 2: {
            Announced announced;
            for (int left = script.below(2); left >= 0; --left) {
                announced.requests.push_back(any_request(script));
            }
            return announced;
        }
        case 3:
        case 4:
        case 5:
        case 6: {
            const std::int64_t child = script.below(2) == 0 ? 1 : 3;
            return Heard{child,
                         spoilt(script, packed(any_upward(script, machine.messages_taken())))};
        }
        case 7:
        case 8:
            if (is_root) return Done{1};
            return Heard{4, spoilt(script, packed(any_downward(script)))};
        case 9:
            return Ticked{};
        case 10: {
            const auto noise = script.bytes(static_cast<std::size_t>(script.below(20)));
            return Heard{script.below(kRanks), std::string(noise.begin(), noise.end())};
        }
        default:
            if (script.below(4) > 0) return Joined{};
            if (script.below(2) == 0) return Lost{"it is lost"};
            return Left{script.below(kRanks), "it left"};
    }
}

void check_sent(const Send& send, bool is_root) {
    const bool is_up = !is_root && send.rank == 4;
    FUZZ_CHECK(is_up || send.rank == 1 || send.rank == 3);
    try {
        if (is_up) {
            FUZZ_CHECK(packed(upward_of(send.message, kRanks)) == send.message);
        } else {
            downward_of(send.message, kRanks);
        }
    } catch (const WireError&) {
        FUZZ_CHECK(!"what a machine says can be read");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(data, size);
    const bool is_root = script.below(2) == 0;
    std::optional<double> error_s;
    if (script.below(2) == 0) error_s = 2.0;
    const Settings settings{script.below(2) == 0 ? 1u : 1u << 20, 0.001, 1.0, error_s, 3,
                            script.below(2) == 0 ? 2u : 1u << 20};
    Tree machine(place_of(is_root), settings);
    double now_s = 0.0;
    bool has_failed = false;
    while (!script.is_over()) {
        std::vector<Event> events;
        for (int left = script.below(3); left >= 0; --left) {
            events.push_back(any_event(script, machine, is_root));
        }
        now_s += 0.3 * script.below(4);
        const bool had_failed = has_failed;
        for (const Action& action : machine.step(events, now_s)) {
            if (const auto* send = std::get_if<Send>(&action)) {
                FUZZ_CHECK(!had_failed);
                check_sent(*send, is_root);
            } else if (const auto* sleep = std::get_if<SleepUntil>(&action)) {
                FUZZ_CHECK(!std::isnan(sleep->at_s));
            } else if (std::holds_alternative<FailAll>(action)) {
                FUZZ_CHECK(!has_failed);
                has_failed = true;
            } else if (!std::holds_alternative<RefuseHere>(action)) {
                FUZZ_CHECK(!had_failed);
            }
        }
    }
    return 0;
}
