#include "positions.hpp"

namespace plink::control {

Member Positions::member(const RequestRef& request) {
    const auto named = table_.named(request->name);
    // In the same message its position may have been given to another.
    if (named && released_[*named]->name == request->name) {
        const bool is_known = is_same(released_[*named], request);
        used_.remove(*named);
        used_.add(*named);
        released_[*named] = request;
        return {*named, is_known ? nullptr : request};
    }
    std::uint64_t position = released_.size();
    if (position < most_) {
        released_.emplace_back();
    } else {
        position = used_.front();
        used_.remove(position);
    }
    used_.add(position);
    released_[position] = request;
    return {position, request};
}

}  // namespace plink::control
