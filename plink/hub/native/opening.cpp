#include "opening.hpp"

namespace plink::hub {

void Opening::go_on(const transport::Stream& stream, bool& is_readable, bool& is_writable) {
    must_write_ = false;
    try {
        switch (stream.tls()->shake_hands()) {
            case transport::Tls::Step::kDone:
                is_done_ = true;
                break;
            case transport::Tls::Step::kMustRead:
                is_readable = false;
                break;
            case transport::Tls::Step::kMustWrite:
                is_writable = false;
                must_write_ = true;
                break;
        }
    } catch (const transport::TlsError& error) {
        const std::string what = error.what();
        throw ConnectionLost(what.empty() || error.is_lost ? "it broke off the hand-shake of TLS"
                                                           : "in the hand-shake of TLS: " + what);
    }
}

}  // namespace plink::hub
