#include "rounds.hpp"

#include <algorithm>

#include "digest.hpp"
#include "utf8.hpp"

namespace plink::control {

namespace {

/// What somebody sent who sent nothing: no kind of round.
constexpr char kNothing = '\xFF';

std::uint8_t kind_of(const std::string& message) {
    return static_cast<std::uint8_t>(message.front());
}

std::string with_kind(std::uint8_t kind, const std::string& rest) {
    return std::string(1, static_cast<char>(kind)) + rest;
}

/// What a message says that ends everything.
std::string text_of(const std::string& message) {
    return as_utf8(std::string_view(message).substr(1));
}

}  // namespace

Rounds::Rounds(const Place& place, std::vector<Action>& actions,
               std::function<void(const std::string&)> fail)
    : place_(place), actions_(actions), fail_(std::move(fail)), sweeps_(place) {}

void Rounds::enter(RoundKind kind) {
    sweeps_.begin(kind);
    gather();
}

void Rounds::hear(const Heard& event) {
    const std::string message = event.message.empty() ? std::string(1, kNothing) : event.message;
    try {
        if (event.rank == place_.parent) {
            come_down(message);
        } else if (is_child(event.rank)) {
            hear_child(event.rank, message);
        } else {
            throw WireError("it is neither parent nor child");
        }
    } catch (const WireError& error) {
        const std::string text = broken_protocol(event.rank, error);
        if (place_.parent) actions_.push_back(Send{*place_.parent, with_kind(kFail, text)});
        fail_below(text);
    }
}

void Rounds::hear_child(std::int64_t child, const std::string& message) {
    if (kind_of(message) == kFail) {
        lose(child, text_of(message));
    } else {
        sweeps_.hear(child, message);
        gather();
    }
}

void Rounds::leave(const Left& event) {
    if (event.rank == place_.parent) {
        fail_below(event.text);
    } else if (is_child(event.rank)) {
        lose(event.rank, event.text);
    }
}

std::string Rounds::broken_protocol(std::int64_t rank, const WireError& error) {
    return "rank " + std::to_string(rank) + " broke the protocol of control: " + error.what();
}

bool Rounds::is_child(std::int64_t rank) const {
    return std::any_of(place_.children.begin(), place_.children.end(),
                       [rank](const auto& child) { return child.first == rank; });
}

/// Passes on the values of all below, when they have come.
void Rounds::gather() {
    std::optional<Values> values;
    try {
        values = sweeps_.take();
    } catch (const OutOfStepError& error) {
        return lose(error.child, broken_protocol(error.child, error));
    }
    const auto kind = sweeps_.kind();
    if (!values || !kind) return;
    const Round& round = kinds[*kind];
    const std::string value = round.combine(*values);
    if (place_.parent) {
        actions_.push_back(Send{*place_.parent, with_kind(*kind, value)});
    } else {
        come_down(with_kind(*kind, round.conclude ? round.conclude(value) : value));
    }
}

/// Takes a round's result, and passes it on.
void Rounds::come_down(const std::string& message) {
    const std::uint8_t kind = kind_of(message);
    if (kind == kFail) return fail_below(text_of(message));
    if (!sweeps_.expects(kind)) throw WireError("it takes part in another round");
    pass_down(message);
    sweeps_.end();
    ++taken_;
    history_ = mixed(history_ ^ plink::control::digest(message, taken_));
    kinds[kind].apply(std::string_view(message).substr(1));
}

void Rounds::pass_down(const std::string& message) {
    for (const auto& [child, below] : place_.children) actions_.push_back(Send{child, message});
}

/// Nothing can go on: said at the next chance, so that it ends alike everywhere.
void Rounds::lose(std::int64_t child, const std::string& text) {
    if (broken.empty()) broken = text;
    sweeps_.lose(child);
    gather();
}

/// Here, and for all who hear of others through this rank.
void Rounds::fail_below(const std::string& text) {
    pass_down(with_kind(kFail, text));
    fail_(text);
}

}  // namespace plink::control
