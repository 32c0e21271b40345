#include <algorithm>
#include <stdexcept>
#include <utility>

#include "lane.hpp"

namespace plink::hub {

bool Lane::copy_at(std::uint32_t iteration) {
    const std::int32_t ahead = distance(iteration_, iteration);
    const bool is_sync = options_.mode == Mode::kSync;
    // Of one that has begun some chunks may be stepped further already.
    if (is_sync && (ahead < 0 || (ahead == 0 && is_begun_))) return false;
    copy_ = LaneCopy{};
    copy_.iteration = iteration;
    copy_.arrays.assign(1 + states_of(options_.optimizer), std::vector<float>(items_));
    is_copying_ = true;
    uncopied_ = chunks_.size();
    if (is_sync && ahead > 0) return true;
    for (const Chunk& chunk : chunks_) copy(chunk, is_sync ? steps_ : chunk.steps);
    return true;
}

void Lane::copy(const Chunk& chunk, std::uint64_t steps) {
    const Array<float>* const arrays[] = {&values_, &first_, &second_};
    for (std::size_t i = 0; i < copy_.arrays.size(); ++i) {
        std::copy_n(arrays[i]->get() + chunk.offset, chunk.place.items,
                    copy_.arrays[i].data() + chunk.packed);
    }
    if (--uncopied_ > 0) return;
    is_copying_ = false;
    copy_.steps = steps;
    copy_.hypers = hyper_bytes_;
    calls_.copied(copy_.iteration);
}

bool Lane::copy_now(std::uint32_t iteration, LaneCopy& into) const {
    for (const Chunk& chunk : chunks_) {
        if (!chunk.has_values || chunk.iteration != iteration) return false;
    }
    into.iteration = iteration;
    into.steps = steps_;
    into.arrays.assign(1 + states_of(options_.optimizer), std::vector<float>(items_));
    const Array<float>* const arrays[] = {&values_, &first_, &second_};
    for (std::size_t i = 0; i < into.arrays.size(); ++i) {
        for (const Chunk& chunk : chunks_) {
            std::copy_n(arrays[i]->get() + chunk.offset, chunk.place.items,
                        into.arrays[i].data() + chunk.packed);
        }
    }
    return true;
}

LaneCopy Lane::take_copy() {
    if (is_copying_) throw std::runtime_error("the copies are not complete");
    return std::exchange(copy_, {});
}

void Lane::load(const LaneCopy& copy) {
    if (copy.arrays.size() != 1 + states_of(options_.optimizer)) {
        throw std::invalid_argument("copies of another optimiser");
    }
    if (is_begun_) throw std::invalid_argument("an iteration is under way");
    Array<float>* const arrays[] = {&values_, &first_, &second_};
    for (std::size_t i = 0; i < copy.arrays.size(); ++i) {
        if (copy.arrays[i].size() != items_) {
            throw std::invalid_argument("copies of another length");
        }
        for (const Chunk& chunk : chunks_) {
            std::copy_n(copy.arrays[i].data() + chunk.packed, chunk.place.items,
                        arrays[i]->get() + chunk.offset);
        }
    }
    for (Chunk& chunk : chunks_) {
        chunk.has_values = true;
        chunk.iteration = chunk.totalled = copy.iteration;
        chunk.steps = copy.steps;
    }
    remaining_ = 0;
    iteration_ = figures_.iteration = copy.iteration;
    steps_ = figures_.steps = copy.steps;
    calls_.filled();
}

}  // namespace plink::hub
