#include <algorithm>
#include <stdexcept>

#include "lane.hpp"
#include "link.hpp"

namespace plink::hub {

/// A push that waits for no other: it is stepped, and its worker gets what came of it.
void Lane::step_alone(Link& link, Chunk& chunk, const Frame& frame, const std::uint8_t* payload) {
    const std::size_t at = index_of(chunk);
    std::uint32_t& clock = clocks_[at * seats_.size() + link.worker];
    const std::int32_t ahead = distance(clock, frame.iteration);
    if (ahead < 0) {
        ++figures_.replays;
        return;
    }
    if (ahead == 0) {
        // It was away, and may not have what came of it.
        ++figures_.replays;
        const auto is_it = [&](const Owed& owed) {
            return owed.chunk == at && owed.worker == link.worker;
        };
        if (std::any_of(owed_.begin(), owed_.end(), is_it)) return;
        if (link.outbox.frames() > 2 * chunks_.size()) {
            throw std::runtime_error("it pushes again and again, and does not take the values");
        }
    } else {
        clock = frame.iteration;
        float* const sums = sums_.get() + chunk.offset;
        widen(options_.wire, sums, payload, chunk.place.items);
        step(chunk, sums, 1.0F, 1.0F,
             scalars_of(options_.optimizer, link.hypers[chunk.place.group], ++chunk.steps));
        figures_.steps = std::max(figures_.steps, chunk.steps);
    }
    workers_ = 1;
    owed_.push_back({static_cast<std::uint32_t>(at), link.worker, frame.iteration});
    reply(chunk);
}

/// Sends the values that workers wait for, unless they would be too far ahead of the slowest.
void Lane::reply(Chunk& chunk) {
    const std::size_t at = index_of(chunk);
    const std::uint32_t* const clocks = &clocks_[at * seats_.size()];
    const auto is_too_far = [&](std::uint32_t iteration) {
        if (options_.mode != Mode::kSsp) return false;
        const auto most = static_cast<std::int32_t>(options_.staleness);
        for (std::size_t i = 0; i < seats_.size(); ++i) {
            if (seats_[i].contributes && distance(clocks[i], iteration) > most) return true;
        }
        return false;
    };
    const auto is_sent = [&](const Owed& owed) {
        if (owed.chunk != at || is_too_far(owed.iteration)) return false;
        Link* const link = link_of(owed.worker);
        if (link != nullptr && link->iteration == owed.iteration) {
            send_value(*link, chunk, owed.iteration);
        }
        return true;
    };
    owed_.erase(std::remove_if(owed_.begin(), owed_.end(), is_sent), owed_.end());
}

}  // namespace plink::hub
