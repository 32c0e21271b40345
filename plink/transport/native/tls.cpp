#ifdef PLINK_HAS_TLS

#include "tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "certificates.hpp"
#include "cursor.hpp"
#include "pipe_signal.hpp"
#include "socket.hpp"

namespace plink::transport {

namespace {

constexpr std::size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
// So many records go to the kernel at once, and stay in the processor's cache meanwhile.
constexpr std::size_t kRecordsAtOnce = 4;
constexpr std::size_t kOutboxBytes = kRecordsAtOnce * (kRecordBytes + 256);

/// The latest error's number; forgets all, which another user of OpenSSL would take for its own.
int reason_of_failure() {
    const unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0;
}

}  // namespace

/// Records that wait for room in the socket; OpenSSL writes them as if it were one.
struct Tls::Outbox {
    struct Record {
        std::size_t end;    ///< in `bytes`
        std::size_t clear;  ///< bytes of the sender's in it
    };
    std::deque<Record> records;  ///< that have not gone
    std::vector<std::uint8_t> bytes;
    std::size_t begin = 0;
    std::size_t end = 0;

    bool is_empty() const { return begin == end; }

    /// Bytes of the sender's whose records have all gone since the last time: the peer may answer
    /// them from now on.
    std::size_t gone() {
        std::size_t clear = 0;
        while (!records.empty() && records.front().end <= begin) {
            clear += records.front().clear;
            records.pop_front();
        }
        return clear;
    }

    static int put(BIO* bio, const char* record, int size) {
        auto& outbox = *static_cast<Outbox*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        if (outbox.bytes.empty()) outbox.bytes.resize(kOutboxBytes);
        if (outbox.is_empty()) outbox.begin = outbox.end = 0;
        const auto length = static_cast<std::size_t>(size);
        if (length > outbox.bytes.size() - outbox.end) {
            BIO_set_retry_write(bio);
            return -1;
        }
        std::memcpy(outbox.bytes.data() + outbox.end, record, length);
        outbox.end += length;
        return size;
    }

    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH; }

    static BIO_METHOD* method() {
        static BIO_METHOD* const its = [] {
            BIO_METHOD* const made = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "plink's outbox");
            BIO_meth_set_write(made, put);
            BIO_meth_set_ctrl(made, control);
            return made;
        }();
        return its;
    }
};

Tls::Tls(std::shared_ptr<const TlsContext> context, int fd, std::optional<int> called_rank)
    : context_(std::move(context)),
      fd_(fd),
      called_rank_(called_rank),
      ssl_(SSL_new(context_->get())) {
    if (ssl_ == nullptr || SSL_set_fd(ssl_, fd) != 1) {
        SSL_free(ssl_);
        throw std::runtime_error("OpenSSL has no memory for a connection");
    }
    SSL_set_app_data(ssl_, this);
    SSL_set_verify(ssl_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, verify);
    if (called_rank_) {
        SSL_set_connect_state(ssl_);
    } else {
        SSL_set_accept_state(ssl_);
    }
}

Tls::~Tls() { SSL_free(ssl_); }

/// A caller knows whom it called, and refuses another rank before it says a word.
int Tls::verify(int is_good, X509_STORE_CTX* store) {
    if (is_good == 0 || X509_STORE_CTX_get_error_depth(store) != 0) return is_good;
    auto* const ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    const Tls& tls = *static_cast<Tls*>(SSL_get_app_data(ssl));
    if (!tls.called_rank_ || *tls.called_rank_ == kAnybody) return 1;
    const X509* const theirs = X509_STORE_CTX_get_current_cert(store);
    if (speaks_for(theirs, tls.context_->name_of(*tls.called_rank_))) return 1;
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
}

Tls::Step Tls::shake_hands() {
    const NoPipeSignal no_signal;
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_);
    if (done == 1) {
        settle();
        return Step::kDone;
    }
    const int error = errno;
    switch (SSL_get_error(ssl_, done)) {
        case SSL_ERROR_WANT_READ:
            return Step::kMustRead;
        case SSL_ERROR_WANT_WRITE:
            return Step::kMustWrite;
        case SSL_ERROR_ZERO_RETURN:
            throw TlsError("", true);
        case SSL_ERROR_SYSCALL:
            ERR_clear_error();
            throw TlsError(error == 0 ? "" : text_of(error), true);
        default:
            break;
    }
    const long verdict = SSL_get_verify_result(ssl_);
    const int reason = reason_of_failure();
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) throw TlsError(verdict_text(verdict), false);
    throw TlsError(reason_text(reason), reason == SSL_R_UNEXPECTED_EOF_WHILE_READING);
}

/// Where the kernel does not encrypt, records are collected and go to it several at a time.
void Tls::settle() {
    is_in_kernel_ = BIO_get_ktls_send(SSL_get_wbio(ssl_));
    if (is_in_kernel_ || context_->options().is_record_by_record) return;
    outbox_ = std::make_unique<Outbox>();
    BIO* const bio = BIO_new(Outbox::method());
    if (bio == nullptr) throw TlsError("OpenSSL has no memory for a connection", true);
    BIO_set_data(bio, outbox_.get());
    BIO_set_init(bio, 1);
    SSL_set0_wbio(ssl_, bio);
}

std::string Tls::refusal(int rank) const {
    const X509* const theirs = SSL_get0_peer_certificate(ssl_);
    if (theirs != nullptr && speaks_for(theirs, context_->name_of(rank))) return "";
    return "its certificate does not speak for rank " + std::to_string(context_->name_of(rank));
}

std::string Tls::cipher() const { return SSL_get_cipher_name(ssl_); }

ssize_t Tls::fail(const std::string& why) {
    failure_ = why;
    is_drained_ = is_full_ = false;
    // The peer is told why, where there is room for so little.
    if (outbox_) flush();
    errno = EPROTO;
    return -1;
}

std::optional<std::size_t> Tls::read(const iovec& room) {
    std::size_t got = 0;
    const int done = SSL_read_ex(ssl_, room.iov_base, room.iov_len, &got);
    if (done == 1) return got;
    const int error = errno;
    switch (SSL_get_error(ssl_, done)) {
        case SSL_ERROR_WANT_READ:
            is_drained_ = true;
            break;
        case SSL_ERROR_ZERO_RETURN:
            is_over_ = true;
            break;
        case SSL_ERROR_SYSCALL:
            ERR_clear_error();
            fail(text_of(error == 0 ? ECONNRESET : error));
            break;
        default:
            fail(reason_text(reason_of_failure()));
            break;
    }
    return std::nullopt;
}

ssize_t Tls::receive(const iovec* pieces, std::size_t count) {
    is_drained_ = false;
    std::size_t total = 0;
    ERR_clear_error();
    for (std::size_t i = 0; i < count; ++i) {
        iovec room = pieces[i];
        while (room.iov_len > 0 && !is_over_ && !is_drained_ && failure_.empty()) {
            const auto got = read(room);
            if (!got) break;
            room.iov_base = static_cast<std::uint8_t*>(room.iov_base) + *got;
            room.iov_len -= *got;
            total += *got;
        }
    }
    if (total > 0 || is_over_) return static_cast<ssize_t>(total);
    errno = failure_.empty() ? EAGAIN : EPROTO;
    return -1;
}

/// Where the socket broke, reading tells.
void Tls::flush() {
    Outbox& outbox = *outbox_;
    while (!outbox.is_empty()) {
        const ssize_t sent = ::send(fd_, outbox.bytes.data() + outbox.begin,
                                    outbox.end - outbox.begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) {
            is_full_ = errno == EAGAIN;
            return;
        }
        outbox.begin += static_cast<std::size_t>(sent);
    }
}

void Tls::renew_key() {
    if (is_in_kernel_ || records_ < context_->options().records_per_key) return;
    records_ = 0;
    SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED);
}

/// How many bytes were taken; none where there is no room, or it failed.
std::optional<std::size_t> Tls::write(const std::uint8_t* bytes, std::size_t size) {
    std::size_t taken = 0;
    const int done = SSL_write_ex(ssl_, bytes, size, &taken);
    if (done == 1) {
        ++records_;
        return taken;
    }
    const int error = errno;
    switch (SSL_get_error(ssl_, done)) {
        case SSL_ERROR_WANT_WRITE:
            is_full_ = true;
            break;
        case SSL_ERROR_SYSCALL:
            ERR_clear_error();
            fail(text_of(error == 0 ? EPIPE : error));
            break;
        default:
            fail(reason_text(reason_of_failure()));
            break;
    }
    return std::nullopt;
}

/// Encrypts what fits into the empty outbox; false where it failed.
bool Tls::seal(const iovec* pieces, std::size_t count) {
    renew_key();
    Cursor cursor(pieces, count, kRecordBytes, gathered_);
    for (std::size_t record = 0; record < kRecordsAtOnce; ++record) {
        const iovec next = cursor.next();
        if (next.iov_len == 0) break;
        const auto taken = write(static_cast<const std::uint8_t*>(next.iov_base), next.iov_len);
        if (!taken) break;
        outbox_->records.push_back({outbox_->end, *taken});
        cursor.skip(*taken);
    }
    return failure_.empty();
}

ssize_t Tls::send(const iovec* pieces, std::size_t count) {
    is_full_ = false;
    ERR_clear_error();
    if (failure_.empty() && !outbox_) return send_records(pieces, count);
    if (failure_.empty() && (!outbox_->records.empty() || seal(pieces, count))) {
        flush();
        const std::size_t gone = outbox_->gone();
        if (gone > 0) return static_cast<ssize_t>(gone);
    }
    if (!failure_.empty()) {
        errno = EPROTO;
    } else if (is_full_) {
        errno = EAGAIN;
    }
    return -1;
}

ssize_t Tls::send_records(const iovec* pieces, std::size_t count) {
    const NoPipeSignal no_signal;
    renew_key();
    Cursor cursor(pieces, count, kRecordBytes, gathered_);
    std::size_t total = 0;
    for (std::size_t record = 0; record < kRecordsAtOnce; ++record) {
        const iovec next = cursor.next();
        if (next.iov_len == 0) break;
        const auto taken = write(static_cast<const std::uint8_t*>(next.iov_base), next.iov_len);
        if (!taken) break;
        total += *taken;
        cursor.skip(*taken);
    }
    if (total > 0) return static_cast<ssize_t>(total);
    errno = failure_.empty() ? EAGAIN : EPROTO;
    return -1;
}

}  // namespace plink::transport

#endif
