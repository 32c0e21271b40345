#include "frame.hpp"

#include <stdexcept>

#include "bytes.hpp"

namespace plink::hub {

using transport::get;
using transport::put;

void encode(const Frame& frame, std::uint8_t* into) {
    into[0] = static_cast<std::uint8_t>(frame.kind);
    into[1] = frame.flags;
    put<std::uint16_t>(into + 2, frame.incarnation);
    put<std::uint32_t>(into + 4, frame.chunk);
    put<std::uint32_t>(into + 8, frame.iteration);
    put<std::uint32_t>(into + 12, frame.bytes);
}

Frame decode(const std::uint8_t* bytes) {
    if (bytes[0] < static_cast<std::uint8_t>(Kind::kStep) ||
        bytes[0] > static_cast<std::uint8_t>(Kind::kTotal)) {
        throw std::runtime_error("it sent a frame of an unknown kind");
    }
    return {static_cast<Kind>(bytes[0]),   bytes[1],
            get<std::uint16_t>(bytes + 2), get<std::uint32_t>(bytes + 4),
            get<std::uint32_t>(bytes + 8), get<std::uint32_t>(bytes + 12)};
}

}  // namespace plink::hub
