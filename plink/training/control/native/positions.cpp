#include "positions.hpp"

#include <iterator>

namespace plink::control {

Member Positions::member(const RequestRef& request) {
    const auto found = places_.find(request->name);
    if (found != places_.end()) {
        used_.splice(used_.end(), used_, found->second);
        const std::uint64_t position = found->second->second;
        return {position, table_.position(request) == position ? nullptr : request};
    }
    std::uint64_t position = used_.size();
    if (position >= most_) {
        position = used_.front().second;
        places_.erase(used_.front().first);
        used_.pop_front();
    }
    used_.emplace_back(request->name, position);
    places_[request->name] = std::prev(used_.end());
    return {position, request};
}

}  // namespace plink::control
