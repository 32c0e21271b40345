#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;
struct x509_store_ctx_st;

namespace plink::transport {

/// Which certificate this rank shows, and which it believes. All files are PEM.
struct TlsOptions {
    std::string certificate;  ///< of this rank, and what leads from it to the authority
    std::string key;          ///< its private key
    std::string authority;    ///< who signed those of all ranks
    /// By rank, how certificates call it; empty where they use the same numbers.
    std::vector<int> names;
    /// After so many a sender takes a new key. AES-GCM's own limit is 2^24.5 (RFC 8446, §5.5).
    std::uint64_t records_per_key = std::uint64_t{1} << 23;
    /// Hand every record to the socket by itself, as the kernel's TLS needs it.
    bool is_record_by_record = false;
};

/// Whether this build can do TLS at all.
bool has_tls();

/// What all connections of a rank share.
class TlsContext {
  public:
    /// Throws std::runtime_error, which names the file, where one cannot be used.
    explicit TlsContext(TlsOptions options);
    TlsContext(const TlsContext&) = delete;
    ~TlsContext();

    const TlsOptions& options() const { return options_; }
    ssl_ctx_st* get() const { return context_; }
    int name_of(int rank) const {
        return options_.names.empty() ? rank : options_.names.at(static_cast<std::size_t>(rank));
    }

  private:
    TlsOptions options_;
    ssl_ctx_st* context_ = nullptr;
};

/// The hand-shake failed. `is_lost`: the connection ended, and nobody said why.
struct TlsError : std::runtime_error {
    TlsError(const std::string& text, bool its_is_lost)
        : std::runtime_error(text), is_lost(its_is_lost) {}
    bool is_lost;
};

/// Whoever answers, the authority knows it.
constexpr int kAnybody = -1;

/// TLS 1.3 on a connected, non-blocking socket, both of whose ends show a certificate. One thread
/// at a time may use it.
class Tls {
  public:
    enum class Step { kDone, kMustRead, kMustWrite };

    /// `called_rank`: who must answer, or kAnybody; nothing for one that was called and does not
    /// know by whom.
    Tls(std::shared_ptr<const TlsContext> context, int fd, std::optional<int> called_rank);
    Tls(const Tls&) = delete;
    ~Tls();

    /// Goes on with the hand-shake. Throws TlsError.
    Step shake_hands();
    /// Why the peer's certificate does not speak for `rank`; empty where it does.
    std::string refusal(int rank) const;

    /// As readv(2), but goes on until the pieces are full or nothing more is there.
    ssize_t receive(const iovec* pieces, std::size_t count);
    /// As writev(2), but counts what the kernel has taken in encrypted form only: until then the
    /// same bytes must be given again, more of them if there are more.
    ssize_t send(const iovec* pieces, std::size_t count);

    bool is_drained() const { return is_drained_; }  ///< the last `receive` took all there was
    bool is_full() const { return is_full_; }        ///< so is the socket, since the last `send`
    const std::string& failure() const { return failure_; }  ///< why it is of no more use
    std::string cipher() const;
    bool is_in_kernel() const { return is_in_kernel_; }  ///< which encrypts what is sent

  private:
    struct Outbox;

    static int verify(int is_good, x509_store_ctx_st* store);
    void settle();
    void flush();
    bool seal(const iovec* pieces, std::size_t count);
    ssize_t send_records(const iovec* pieces, std::size_t count);
    std::optional<std::size_t> write(const std::uint8_t* bytes, std::size_t size);
    std::optional<std::size_t> read(const iovec& room);
    void renew_key();
    ssize_t fail(const std::string& why);

    std::shared_ptr<const TlsContext> context_;
    int fd_;
    std::optional<int> called_rank_;
    ssl_st* ssl_;
    std::unique_ptr<Outbox> outbox_;      ///< none where records go to the socket one by one
    std::vector<std::uint8_t> gathered_;  ///< of one record that has several pieces
    std::uint64_t records_ = 0;           ///< with the present key
    bool is_drained_ = false;
    bool is_full_ = false;
    bool is_over_ = false;
    bool is_in_kernel_ = false;
    std::string failure_;
};

}  // namespace plink::transport
