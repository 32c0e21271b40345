#include "setting_up.hpp"

#include <fcntl.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace plink::hub {

transport::Stream taken_over(int fd, const LineOptions& options, bool is_caller) {
    // The caller's own goes on to be its.
    transport::Descriptor own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own.is_open()) throw std::runtime_error("no descriptor: " + transport::text_of(errno));
    const int flags = ::fcntl(own.get(), F_GETFL);
    ::fcntl(own.get(), F_SETFL, flags | O_NONBLOCK);
    const bool is_near = transport::is_near(own.get());
    transport::set_up(own.get(), is_near ? options.near : options.far);
    if (is_near && options.near_buffer_bytes > 0) {
        transport::bound_send_buffer(own.get(), options.near_buffer_bytes);
    }
    transport::keep_alive(own.get());
    transport::Stream stream(std::move(own));
    if (options.tls) {
        // Whose server it is, the proofs of the hello say.
        stream.encrypt(options.tls, is_caller ? std::optional(transport::kAnybody) : std::nullopt);
    }
    return stream;
}

}  // namespace plink::hub
