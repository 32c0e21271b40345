#pragma once

#include <memory>

#include "shared_memory.hpp"
#include "stream.hpp"

namespace plink::transport {

/// What connects two ranks: a socket, and where their data go through shared memory, that. The
/// socket is then the memory's bell.
struct Line {
    Stream socket;
    std::unique_ptr<SharedMemory> memory;
    bool is_far = false;  ///< the way to the peer's host is long
};

}  // namespace plink::transport
