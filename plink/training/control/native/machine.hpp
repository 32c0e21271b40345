#pragma once

#include <cstdint>
#include <vector>

#include "actions.hpp"
#include "events.hpp"

namespace plink::control {

/// What decides on one rank, whatever the mode.
class Machine {
  public:
    Machine() = default;
    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// Of what ranks have agreed on, equal on those that took as many messages.
    virtual std::uint64_t digest() const = 0;
    /// Of the root.
    virtual std::uint64_t messages_taken() const = 0;
    /// Whether it asks to sleep, and to hear nothing meanwhile.
    virtual bool sleeps() const { return false; }
    /// What is to be done after these events, in this order. `now_s`: on a clock that does not go
    /// back.
    virtual std::vector<Action> step(const std::vector<Event>& events, double now_s) = 0;
};

}  // namespace plink::control
