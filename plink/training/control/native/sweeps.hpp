#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "settings.hpp"
#include "wire.hpp"

namespace plink::control {

/// What children said, by rank.
using Values = std::vector<std::pair<std::int64_t, std::string>>;

/// A child takes part in another round.
class OutOfStepError : public WireError {
  public:
    explicit OutOfStepError(std::int64_t which)
        : WireError("it takes part in another round"), child(which) {}
    const std::int64_t child;
};

/// One rank's part in one round after the other, over a tree of ranks: values go up, one result
/// comes down. Children may be a round ahead of a rank that sleeps, never more: each awaits the
/// result.
class Sweeps {
  public:
    explicit Sweeps(const Place& place);

    /// Of the round that is under way; none between cycles.
    std::optional<std::uint8_t> kind() const { return kind_; }
    /// This rank takes part in a round from now on.
    void begin(std::uint8_t kind);
    /// The result has come.
    void end() { kind_.reset(); }
    /// Whether a result of this kind can come.
    bool expects(std::uint8_t kind) const { return kind_ == kind && is_passed_on_; }
    /// A child passes on its value. `message`: at least one byte.
    void hear(std::int64_t child, std::string message);
    /// Nothing more comes of a child, and nothing is awaited.
    void lose(std::int64_t child);
    /// Once, the values of all children, when this rank takes part and all have come. Throws
    /// OutOfStepError.
    std::optional<Values> take();

  private:
    std::vector<std::pair<std::int64_t, std::deque<std::string>>> come_;
    std::optional<std::uint8_t> kind_;
    bool is_passed_on_ = false;
};

}  // namespace plink::control
