#include "way_out.hpp"

#include <algorithm>

#include "link.hpp"
#include "loop.hpp"

namespace plink::hub {

WayOut::Queue& WayOut::queue_of(const Link& link) {
    const auto is_its = [&link](const Queue& queue) { return queue.tenant == link.tenant; };
    return *std::find_if(queues_.begin(), queues_.end(), is_its);
}

void WayOut::enter(Link& link) {
    const auto is_its = [&link](const Queue& queue) { return queue.tenant == link.tenant; };
    if (std::none_of(queues_.begin(), queues_.end(), is_its)) {
        queues_.push_back({link.tenant, {}, {}, virtual_time_, 0});
    }
    queue_of(link).links.push_back(&link);
}

void WayOut::leave(Link& link) {
    const auto is_its = [&link](const Queue& queue) { return queue.tenant == link.tenant; };
    const auto at = std::find_if(queues_.begin(), queues_.end(), is_its);
    if (at == queues_.end()) return;
    at->links.erase(std::remove(at->links.begin(), at->links.end(), &link), at->links.end());
    at->waiting.erase(std::remove(at->waiting.begin(), at->waiting.end(), &link),
                      at->waiting.end());
    link.is_held = false;
    if (at->links.empty()) queues_.erase(at);
}

bool WayOut::has_waiting() const {
    return std::any_of(queues_.begin(), queues_.end(),
                       [](const Queue& queue) { return !queue.waiting.empty(); });
}

void WayOut::wait(Link& link) {
    if (link.is_held) return;
    Queue& queue = queue_of(link);
    // Who had nothing to send has not saved up for later.
    if (queue.waiting.empty()) queue.virtual_time = std::max(queue.virtual_time, virtual_time_);
    queue.waiting.push_back(&link);
    link.is_held = true;
}

void WayOut::look() {
    kept_bytes_ = 0;
    for (Queue& queue : queues_) {
        queue.kept_bytes = 0;
        for (const Link* const link : queue.links) queue.kept_bytes += link->unsent_bytes();
        kept_bytes_ += queue.kept_bytes;
    }
    // The port has been idle meanwhile, or nearly so: it is faster than this is looked at.
    if (was_full_ && kept_bytes_ < budget_bytes_ / 4) {
        budget_bytes_ = std::min(2 * budget_bytes_, kMostBudget);
    } else if (was_full_ && kept_bytes_ > budget_bytes_ / 4 * 3) {
        budget_bytes_ = std::max(budget_bytes_ - budget_bytes_ / 1024, kLeastBudget);
    }
    was_full_ = false;
}

/// Each may have something there, even if others' slow workers have used up the budget.
bool WayOut::may_send(const Queue& queue, double most_weight) const {
    const double own = static_cast<double>(kTurnBytes) * queue.tenant->weight / most_weight;
    return kept_bytes_ < budget_bytes_ || static_cast<double>(queue.kept_bytes) < own;
}

Link* WayOut::next() {
    double most_weight = 0.0;
    for (const Queue& queue : queues_) most_weight = std::max(most_weight, queue.tenant->weight);
    Queue* first = nullptr;
    for (Queue& queue : queues_) {
        if (queue.waiting.empty() || !may_send(queue, most_weight)) continue;
        if (first == nullptr || queue.virtual_time < first->virtual_time) first = &queue;
    }
    if (first == nullptr) {
        was_full_ = has_waiting();
        return nullptr;
    }
    virtual_time_ = std::max(virtual_time_, first->virtual_time);
    Link* const link = first->waiting.front();
    first->waiting.pop_front();
    link->is_held = false;
    return link;
}

void WayOut::sent(const Link& link, std::size_t bytes) {
    Queue& queue = queue_of(link);
    queue.virtual_time += static_cast<double>(bytes) / queue.tenant->weight;
    queue.kept_bytes += bytes;
    kept_bytes_ += bytes;
}

std::vector<Link*> WayOut::release() {
    std::vector<Link*> found;
    for (Queue& queue : queues_) {
        for (Link* const link : queue.waiting) {
            link->is_held = false;
            found.push_back(link);
        }
        queue.waiting.clear();
    }
    return found;
}

}  // namespace plink::hub
