#include "part.hpp"

#include <algorithm>
#include <cstring>

namespace plink::engine {

void refuse(const Frame& frame, const std::string& why) {
    throw std::runtime_error("it sent a frame of collective " + std::to_string(frame.collective) +
                             ", chunk " + std::to_string(frame.chunk) + ", that " + why);
}

Part::Part(std::shared_ptr<Collective> collective, int worker)
    : worker_(worker), collective_(std::move(collective)), share_(collective_->share(worker)) {
    frames_in_left_ = share_.frames_in;
    frames_out_left_ = share_.frames_out;
}

std::size_t copy(Arrival& arrival, const std::uint8_t* bytes, std::size_t size) {
    size = std::min(size, arrival.bytes_left);
    std::memcpy(arrival.into, bytes, size);
    arrival.into += size;
    arrival.bytes_left -= size;
    return size;
}

std::size_t Part::take(Arrival& arrival, const std::uint8_t* bytes, std::size_t size) {
    return copy(arrival, bytes, size);
}

}  // namespace plink::engine
