#include "queue.hpp"

namespace plink::control {

void Queue::add(const QueuedRef& queued) {
    numbers_[queued->request->name] = next_;
    queued_[next_++] = queued;
}

QueuedRef Queue::find(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? nullptr : queued_.at(found->second);
}

void Queue::remove(const std::string& name) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return;
    queued_.erase(found->second);
    numbers_.erase(found);
}

std::vector<QueuedRef> Queue::all() const {
    std::vector<QueuedRef> all;
    for (const auto& [number, queued] : queued_) all.push_back(queued);
    return all;
}

void Queue::clear() {
    queued_.clear();
    numbers_.clear();
}

}  // namespace plink::control
