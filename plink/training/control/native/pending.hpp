#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages.hpp"

namespace plink::control {

/// What has been announced in a part of the ranks and not been released: one name, or several that
/// have a tensor in common and so cannot all be.
struct Pending {
    std::vector<std::string> names;
    double first_s;     ///< when the first was announced here
    Versions versions;  ///< how, and by whom
    /// In the order in which it came: by whom, this rank or a child for all below it, and what was
    /// announced together.
    std::vector<std::pair<std::int64_t, Versions>> said;
    /// Who has announced which.
    std::set<std::pair<std::string, std::int64_t>> heard;
    bool is_passed_on = false;

    /// By whom.
    Ranks announced() const;
    /// It is announced by `source`, for itself or for all below it.
    void add(std::int64_t source, const Versions& news);
    /// Go on as one: the ranks disagree about their tensors.
    void absorb(const Pending& other);
    /// Whether all of these have announced it.
    bool is_complete(const std::set<std::int64_t>& sources) const;
};

/// What ranks say that differ in a request, or in requests that share a tensor, for people.
std::string disagreement(Versions versions);

/// Who keeps the others waiting, for people.
std::string missing_text(const std::string& name, double waited_s, const Ranks& announced,
                         const Ranks& missing);

}  // namespace plink::control
