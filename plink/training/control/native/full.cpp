#include "full.hpp"

#include "wire.hpp"

namespace plink::control {

void Full::begin() {
    for (const QueuedRef& queued : queue_.all()) {
        coordination_.announce(queued->request, queued->since_s, now_s_);
    }
    queue_.clear();
    rounds_.enter(kRequests);
}

std::vector<RequestRef> Full::named(const std::vector<Member>& members) const {
    std::vector<RequestRef> requests;
    for (const Member& member : members) {
        if (!member.request) throw WireError("a released request is not named");
        requests.push_back(member.request);
    }
    return requests;
}

}  // namespace plink::control
