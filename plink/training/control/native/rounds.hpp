#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actions.hpp"
#include "cycle_messages.hpp"
#include "events.hpp"
#include "settings.hpp"
#include "sweeps.hpp"

namespace plink::control {

/// What one kind of round does with values, which are bytes.
struct Round {
    /// Those of children with this rank's own.
    std::function<std::string(const Values&)> combine;
    /// At the root, the result from the value of all; none where it is that.
    std::function<std::string(const std::string&)> conclude;
    /// On every rank, the result.
    std::function<void(std::string_view)> apply;
};

/// Rounds of one kind after the other, over a tree of ranks, with equal results on all: one rank's
/// part in them.
class Rounds {
  public:
    /// `actions`: what follows is added to these. `fail`: nothing can go on here; with why, for
    /// people.
    Rounds(const Place& place, std::vector<Action>& actions,
           std::function<void(const std::string&)> fail);

    /// By kind.
    std::array<Round, kFail> kinds;
    /// Why nothing can go on, which all ranks are to hear.
    std::string broken;

    /// Of the round that is under way; none between cycles.
    std::optional<std::uint8_t> kind() const { return sweeps_.kind(); }
    /// Of all results, equal on ranks that took as many.
    std::uint64_t digest() const { return history_; }
    /// Results so far.
    std::uint64_t taken() const { return taken_; }

    /// Take part in a round.
    void enter(RoundKind kind);
    /// Take part in none.
    void end() { sweeps_.end(); }
    /// A parent or a child says something.
    void hear(const Heard& event);
    /// What a parent or a child carried to others is carried no more.
    void leave(const Left& event);
    /// What children said; those that broke the protocol are left out.
    template <typename Parse>
    auto parsed(const Values& values, const Parse& parse) {
        std::vector<std::pair<std::int64_t, decltype(parse(std::string_view()))>> parsed;
        for (const auto& [child, value] : values) {
            try {
                parsed.emplace_back(child, parse(std::string_view(value)));
            } catch (const WireError& error) {
                lose(child, broken_protocol(child, error));
            }
        }
        return parsed;
    }

  private:
    static std::string broken_protocol(std::int64_t rank, const WireError& error);
    bool is_child(std::int64_t rank) const;
    void hear_child(std::int64_t child, const std::string& message);
    void gather();
    void come_down(const std::string& message);
    void pass_down(const std::string& message);
    void lose(std::int64_t child, const std::string& text);
    void fail_below(const std::string& text);

    const Place& place_;
    std::vector<Action>& actions_;
    const std::function<void(const std::string&)> fail_;
    Sweeps sweeps_;
    std::uint64_t taken_ = 0;
    std::uint64_t history_ = 0;
};

}  // namespace plink::control
