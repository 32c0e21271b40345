#include "events.hpp"

#include <utility>

namespace plink::hub {

void Events::add(Event event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(std::move(event));
    alarm_.ring();
}

std::vector<Event> Events::take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    alarm_.silence();
    return std::exchange(events_, {});
}

}  // namespace plink::hub
