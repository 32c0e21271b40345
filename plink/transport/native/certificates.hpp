#pragma once

#include <openssl/types.h>

#include <string>

namespace plink::transport {

/// Whether a certificate speaks for a rank: it names that one, or none at all. It names ranks as
/// URIs among its alternative names, such as `plink:rank:3`.
bool speaks_for(const X509* certificate, int rank);

/// What is wrong with a peer's certificate, as OpenSSL's `X509_V_ERR_...` says it.
std::string verdict_text(long verdict);

/// Why TLS failed, as OpenSSL's `SSL_R_...` says it; alerts are the peer's words.
std::string reason_text(int reason);

/// Whether this processor has instructions for AES.
bool has_quick_aes();

}  // namespace plink::transport
