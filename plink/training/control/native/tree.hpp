#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "machine.hpp"
#include "messages.hpp"
#include "own.hpp"
#include "part.hpp"
#include "positions.hpp"
#include "root.hpp"
#include "settings.hpp"
#include "table.hpp"

namespace plink::control {

/// The machine of one rank that agrees along a tree: `plink/training/control/tree.py` says how, and
/// does the same.
class Tree final : public Machine {
  public:
    Tree(Place place, const Settings& settings);

    /// Of the table and of all that the root has said.
    std::uint64_t digest() const override { return table_.digest() ^ history_; }
    std::uint64_t messages_taken() const override { return taken_; }
    std::vector<Action> step(const std::vector<Event>& events, double now_s) override;

  private:
    void take(const Event& event, double now_s);
    void announce(const Announced& event, double now_s);
    void join();
    void leave(const Left& event, double now_s);
    void hear(const Heard& event, double now_s);
    void count(std::int64_t child, const Ranks& below, const Upward& message, double now_s);
    std::vector<RequestRef> mark(std::int64_t child, const Upward& message, double now_s);
    bool is_void(const std::string& name, std::uint64_t seen) const;
    void forget();
    void pass_on(double now_s);
    void say_complete(const Versions& versions);
    void pass_on_stall(const Waiting& waiting, double now_s);
    void obey(const Downward& message, std::string_view data, double now_s);
    void answer(double now_s);
    void release(const Downward& message);
    void refuse(const std::string& name, const std::string& text);
    void break_off(const std::string& text);
    void fail(const std::string& text);
    void sleep();
    const Ranks* below(std::int64_t child) const;

    const Place place_;
    const Settings settings_;
    Table table_;
    Own own_;
    std::optional<Positions> positions_;
    std::optional<Root> root_;
    Part part_;
    std::uint64_t taken_ = 0;
    std::uint64_t history_ = 0;
    std::map<std::int64_t, std::uint64_t> child_seen_;
    /// By name, the root's message by which it was refused: what was said before it is void.
    std::unordered_map<std::string, std::uint64_t> refused_;
    std::unordered_map<std::uint64_t, std::uint64_t> checks_;
    /// Stalled names about which the root asks, and which this rank has not answered yet.
    std::vector<std::string> asked_;
    bool holds_answers_ = false;
    std::string failed_;
    Upward up_;
    /// By name, the index in `up_.waiting`.
    std::unordered_map<std::string, std::size_t> waiting_at_;
    std::vector<Action> actions_;
    double wakes_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace plink::control
