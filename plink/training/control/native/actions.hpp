#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// Bring a message to another rank's machine.
struct Send {
    std::int64_t rank;
    std::string message;
};
/// Collectives of one kind, type, operation and scale, to be run as one buffer. `joined`: some
/// ranks have joined, and contribute zeros.
struct Batch {
    std::vector<RequestRef> requests;
    bool joined;
};
/// Run these, in this order, which is the same on all ranks.
struct Release {
    std::vector<Batch> batches;
};
/// Tell `Ticked` at this time, infinity for never, and forget any other that was named before.
/// `wakes_on_message`: what comes meanwhile is told at once, not only then.
struct SleepUntil {
    double at_s;
    bool wakes_on_message = true;

    bool operator==(const SleepUntil& other) const {
        return at_s == other.at_s && wakes_on_message == other.wakes_on_message;
    }
};
/// Tell people.
struct Warn {
    std::string text;
};
/// A collective fails on every rank; others go on.
struct Refuse {
    std::string name;
    std::string text;
};
/// An announcement, or joining where there are no names, was not taken, on this rank alone.
struct RefuseHere {
    std::vector<std::string> names;
    std::string text;
};
/// Every rank has joined, `last` after the others; they all begin anew.
struct AllJoined {
    std::int64_t last;
};
/// Nothing goes on: every pending collective, and every later one, fails with `text`.
struct FailAll {
    std::string text;
};

using Action =
    std::variant<Send, Release, SleepUntil, Warn, Refuse, RefuseHere, AllJoined, FailAll>;

}  // namespace plink::control
