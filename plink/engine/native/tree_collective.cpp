#include "tree_collective.hpp"

#include <cstring>

#include "tree_part.hpp"

namespace plink::engine {

TreeCollective::TreeCollective(std::uint64_t its_number,
                               std::shared_ptr<const Schedule> its_schedule, const void* input,
                               void* output, Op its_op, int its_ranks, int its_priority,
                               std::uint64_t layout)
    : Collective(its_number,
                 static_cast<std::uint16_t>(
                     folded(mixed(mixed(its_schedule->digest, &its_op, sizeof(its_op)),
                                  &its_priority, sizeof(its_priority))) ^
                     folded(layout)),
                 its_priority),
      schedule(std::move(its_schedule)),
      op(its_op),
      ranks(its_ranks),
      input_(static_cast<const std::uint8_t*>(input)),
      output_(static_cast<std::uint8_t*>(output)) {
    const Deal& deal = schedule->deal;
    states.resize(deal.chunks());
    if (!reduces(schedule->kind)) return;
    for (std::uint32_t chunk = 0; chunk < deal.chunks(); ++chunk) {
        const auto& place = schedule->places->in(static_cast<int>(deal.route[chunk]));
        states[chunk].children_left = static_cast<std::uint32_t>(place.reduce_children.size());
    }
}

std::unique_ptr<Part> TreeCollective::part(const std::shared_ptr<Collective>& self, int worker,
                                           bool in_order, Pace& pace) {
    return std::make_unique<TreePart>(std::static_pointer_cast<TreeCollective>(self), worker,
                                      in_order, pace);
}

void TreeCollective::copy_own() {
    if (ranks > 1 || input_ == output_ || !has_segments(schedule->kind)) return;
    for (std::uint32_t chunk = 0; chunk < schedule->deal.chunks(); ++chunk) {
        std::memmove(result(chunk), own(chunk), schedule->deal.bytes_of(chunk));
    }
}

bool TreeCollective::is_root(std::uint32_t chunk) const {
    return schedule->places->in(static_cast<int>(schedule->deal.route[chunk])).is_root();
}

std::size_t TreeCollective::own_offset_bytes(std::uint32_t chunk) const {
    return (schedule->deal.first_item[chunk] - schedule->own_first_item) *
           schedule->deal.item_bytes;
}

const std::uint8_t* TreeCollective::own(std::uint32_t chunk) const {
    if (schedule->kind == Kind::kAllGather) return input_ + own_offset_bytes(chunk);
    return input_ + schedule->deal.offset_bytes(chunk);
}

std::uint8_t* TreeCollective::result(std::uint32_t chunk) const {
    switch (schedule->kind) {
        case Kind::kReduceScatter:
            return is_root(chunk) ? output_ + own_offset_bytes(chunk) : nullptr;
        case Kind::kReduce:
            return is_root(chunk) ? output_ + schedule->deal.offset_bytes(chunk) : nullptr;
        default:
            return output_ + schedule->deal.offset_bytes(chunk);
    }
}

}  // namespace plink::engine
