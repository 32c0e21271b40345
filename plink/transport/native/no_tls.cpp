// What stands for TLS in a build without OpenSSL.

#ifndef PLINK_HAS_TLS

#include "tls.hpp"

namespace plink::transport {

struct Tls::Outbox {};

bool has_tls() { return false; }

TlsContext::TlsContext(TlsOptions) {
    throw std::runtime_error("this build has no TLS: install libssl-dev and build again");
}

TlsContext::~TlsContext() = default;

// None is ever made, because that takes a context.
Tls::Tls(std::shared_ptr<const TlsContext>, int, std::optional<int>) {}
Tls::~Tls() = default;
Tls::Step Tls::shake_hands() { return Step::kDone; }
std::string Tls::refusal(int) const { return ""; }
ssize_t Tls::receive(const iovec*, std::size_t) { return 0; }
ssize_t Tls::send(const iovec*, std::size_t) { return 0; }
std::string Tls::cipher() const { return ""; }

}  // namespace plink::transport

#endif
