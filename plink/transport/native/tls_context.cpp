#ifdef PLINK_HAS_TLS

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "certificates.hpp"
#include "tls.hpp"

namespace plink::transport {

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

// A processor without instructions for AES is quicker with the other one.
const char* suites() {
    return has_quick_aes() ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"
                           : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
    const unsigned long error = ERR_peek_last_error();
    const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    ERR_clear_error();
    throw std::runtime_error(file + ": " + what + (reason ? " (" + std::string(reason) + ")" : ""));
}

}  // namespace

bool has_tls() { return true; }

TlsContext::TlsContext(TlsOptions options) : options_(std::move(options)) {
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()),
                                                              SSL_CTX_free);
    SSL_CTX* const it = context.get();
    if (it == nullptr) throw std::runtime_error("OpenSSL cannot begin");
    SSL_CTX_set_min_proto_version(it, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(it, suites());
    // Ranks say inside when they are done, and any end before that is an error: one without TLS's
    // own goodbye is no worse.
    SSL_CTX_set_options(it, SSL_OP_ENABLE_KTLS | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(it, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                             SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_num_tickets(it, 0);
    SSL_CTX_set_session_cache_mode(it, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(it, 1);
    SSL_CTX_set_default_read_buffer_len(it, kReadBytes);
    // Otherwise OpenSSL asks on the terminal for the pass phrase of a key that has one.
    SSL_CTX_set_default_passwd_cb(it, [](char*, int, int, void*) { return -1; });
    if (SSL_CTX_use_certificate_chain_file(it, options_.certificate.c_str()) != 1) {
        refuse(options_.certificate, "holds no certificate in PEM form");
    }
    if (SSL_CTX_use_PrivateKey_file(it, options_.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        refuse(options_.key, "holds no private key of that certificate");
    }
    if (SSL_CTX_check_private_key(it) != 1) {
        refuse(options_.key, "is not the key of " + options_.certificate);
    }
    if (SSL_CTX_load_verify_file(it, options_.authority.c_str()) != 1) {
        refuse(options_.authority, "holds no certificate of an authority in PEM form");
    }
    context_ = context.release();
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

}  // namespace plink::transport

#endif
