#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "handshake.hpp"
#include "line.hpp"

namespace plink::transport {

/// Ranks could not be connected. `rank` is whose fault that is, or -1.
struct MeshError : std::runtime_error {
    MeshError(int its_rank, const std::string& text) : std::runtime_error(text), rank(its_rank) {}
    int rank;
};

/// Where a rank listens.
struct Listeners {
    std::vector<Descriptor> tcp;
    Descriptor local;  ///< a Unix socket, for ranks of this host; none where TCP is to serve them
};

/// Connects a rank with all others, once for each channel. The higher rank of a pair calls; with
/// ranks of its own host it shares memory for data, where that can be had.
class Mesh {
  public:
    /// `endpoints`: by rank, where it listens; the channels of a pair are spread over them.
    /// `memory_bytes`: of the memory shared with a rank of this host, for each way.
    /// `tls`: all TCP connections go by that; none for clear ones.
    Mesh(const Hello& us, Listeners listeners, std::vector<std::vector<Endpoint>> endpoints,
         std::string congestion, std::size_t memory_bytes,
         std::shared_ptr<const TlsContext> tls = nullptr);
    Mesh(const Mesh&) = delete;

    /// Goes on for at most so long; returns whether all are connected. Throws MeshError.
    bool step(int milliseconds);

    /// Which ranks are not fully connected yet.
    std::vector<int> missing() const;
    /// How a missing rank dropped this rank's calls, for people; empty where none did.
    std::string dropped() const;
    /// What the latest caller did that could not say who it is; empty where there was none.
    const std::string& observed() const { return observed_; }

    /// By channel and rank, once all are connected.
    std::vector<std::vector<Line>> take() { return std::move(lines_); }

  private:
    using Clock = std::chrono::steady_clock;
    /// A connection on which the hand-shake is not over.
    struct Pending {
        Stream socket;
        int rank;  ///< -1 for one that called and has not said who it is
        int channel;
        Endpoint endpoint;
        bool is_connected;
        std::string heard;
        Clock::time_point since;
        bool is_local = false;                   ///< by a Unix socket
        std::unique_ptr<SharedMemory> memory{};  ///< that goes with it
        Descriptor handle{};                     ///< of memory: to be sent, or received
        bool is_encrypting = false;              ///< the hand-shake of TLS is not over
        bool must_write = false;                 ///< to go on with it
        int tries = 0;                           ///< calls that were dropped before this one
        std::string source{};                    ///< of a caller (`source_of`)
    };
    /// A call that was dropped before it was answered.
    struct Again {
        int rank;
        int channel;
        int tries;
        Clock::time_point at;  ///< when to call again
    };

    void watch(int fd, std::uint32_t events, std::uint64_t number) const;
    void add(Pending pending);
    void handle(std::uint64_t number);
    void drop_mute();
    void call(int rank, int channel);
    bool call_locally(int rank, int channel);
    void call_remotely(int rank, int channel, int tries = 0);
    bool call_again(const Pending& pending);
    void call_again_when_due();
    int until_next_call_ms(int most) const;
    void admit(int listener, bool is_local);
    bool dismiss(std::size_t most);
    bool dismiss_one();
    bool proceed(Pending& pending);
    bool encrypt(Pending& pending);
    bool introduce(Pending& pending);
    void observe(const Pending& pending, const std::string& what);
    std::string refusal_of(const Pending& pending, const Hello& hello) const;
    bool hear(Pending& pending, std::size_t bytes);
    bool greet(Pending& pending);
    bool listen_to_answer(Pending& pending);
    bool join(Pending& pending, int channel) const;
    bool share_no_memory(const Pending& pending);
    void establish(Pending& pending, int rank, int channel);
    static std::string unreachable(const Pending& pending, int error);
    void lose(const Pending& pending, const std::string& why);
    void judge_lost() const;
    MeshError failure(const Pending& pending, const std::string& why) const;
    [[noreturn]] void fail(const Pending& pending, const std::string& why) const;

    Hello us_;
    Listeners listeners_;
    std::vector<std::vector<Endpoint>> endpoints_;
    std::string congestion_;
    std::size_t memory_bytes_;
    std::shared_ptr<const TlsContext> tls_;
    std::string observed_;
    Descriptor epoll_;
    std::map<std::uint64_t, Pending> pending_;  ///< by number, the oldest first
    std::uint64_t next_pending_ = 0;
    Clock::time_point next_look_{};  ///< for callers that say nothing
    std::vector<Again> again_;
    std::map<int, int> drops_;              ///< by rank, how many calls it dropped
    std::vector<std::vector<Line>> lines_;  ///< by channel and rank
    std::size_t established_ = 0;
    std::optional<MeshError> lost_;  ///< the first connection that broke
    Clock::time_point lost_at_{};
};

}  // namespace plink::transport
