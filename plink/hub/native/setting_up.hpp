#pragma once

#include <memory>
#include <string>

#include "stream.hpp"

namespace plink::hub {

/// How a data connection is set up, at either end.
struct LineOptions {
    std::string near;  ///< congestion control of connections to near hosts; empty for the system's
    std::string far;   ///< and to others
    int near_buffer_bytes = 0;  ///< of what waits to be sent to near hosts; 0 for the kernel's own
    std::shared_ptr<const transport::TlsContext> tls;  ///< none for clear connections
};

/// Takes over a connected socket whose hello is over. Throws std::runtime_error.
transport::Stream taken_over(int fd, const LineOptions& options, bool is_caller);

}  // namespace plink::hub
