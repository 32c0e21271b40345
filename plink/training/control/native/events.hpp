#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "request.hpp"

namespace plink::control {

/// This rank is ready for these collectives; all of them are taken, or none.
struct Announced {
    std::vector<RequestRef> requests;
    /// In mode `tree`, time at which the program announced them; none for now.
    std::optional<double> since_s = {};
};
/// This rank's answers to the root's questions are to be held back, or to be sent again.
struct AnswersHeld {
    bool is_held;
};
/// A message of another rank's machine has come; in order for each rank.
struct Heard {
    std::int64_t rank;
    std::string message;
};
/// The time that `SleepUntil` named has come, or later.
struct Ticked {};
/// So many more released batches have ended on this rank.
struct Done {
    std::int64_t batches;
};
/// This rank has no more to announce until all ranks have none.
struct Joined {};
/// A rank is lost, so that nothing goes on. `text` is for people.
struct Lost {
    std::string text;
};
/// Another rank has closed its engine, after all that was heard of it.
struct Left {
    std::int64_t rank;
    std::string text;
};

using Event = std::variant<Announced, AnswersHeld, Heard, Ticked, Done, Joined, Lost, Left>;

}  // namespace plink::control
