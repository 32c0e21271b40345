#include "growth.hpp"

#include <algorithm>

namespace plink::control {

void Growth::evicted(const std::string& name, std::uint64_t bound) {
    if (places_.count(name) == 0) places_[name] = names_.insert(names_.end(), name);
    while (names_.size() > bound) {
        places_.erase(names_.front());
        names_.pop_front();
    }
}

std::uint64_t Growth::bound(std::uint64_t bound, const std::vector<std::string>& names) {
    bool has_come_back = false;
    for (const std::string& name : names) {
        const auto found = places_.find(name);
        if (found == places_.end()) continue;
        names_.erase(found->second);
        places_.erase(found);
        has_come_back = true;
    }
    return has_come_back ? std::min(2 * bound, most_) : bound;
}

}  // namespace plink::control
