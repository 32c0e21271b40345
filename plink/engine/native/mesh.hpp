#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "handshake.hpp"
#include "socket.hpp"

namespace plink::engine {

/// Ranks could not be connected. `rank` is whose fault that is, or -1.
struct MeshError : std::runtime_error {
    MeshError(int its_rank, const std::string& text) : std::runtime_error(text), rank(its_rank) {}
    int rank;
};

/// Connects a rank with all others, once for each channel. The higher rank of a pair calls.
class Mesh {
  public:
    /// `listeners`: listening sockets of this rank. `endpoints`: by rank, where it listens;
    /// the channels of a pair are spread over them.
    Mesh(const Hello& us, std::vector<Descriptor> listeners,
         std::vector<std::vector<Endpoint>> endpoints, std::string congestion);
    Mesh(const Mesh&) = delete;

    /// Goes on for at most so long; returns whether all are connected. Throws MeshError.
    bool step(int milliseconds);

    /// Which ranks are not fully connected yet.
    std::vector<int> missing() const;

    /// By channel and rank, once all are connected.
    std::vector<std::vector<Descriptor>> take() { return std::move(sockets_); }

  private:
    using Clock = std::chrono::steady_clock;
    /// A connection on which the hand-shake is not over.
    struct Pending {
        Descriptor socket;
        int rank;  ///< -1 for one that called and has not said who it is
        int channel;
        Endpoint endpoint;
        bool is_connected;
        std::string heard;
        Clock::time_point since;
    };

    void call(int rank, int channel);
    void admit(int listener);
    bool proceed(Pending& pending, short events);
    bool hear(Pending& pending, std::size_t bytes);
    bool greet(Pending& pending);
    bool listen_to_answer(Pending& pending);
    void establish(Pending& pending, int rank, int channel);
    void lose(const Pending& pending, const std::string& why);
    void judge_lost() const;
    MeshError failure(const Pending& pending, const std::string& why) const;
    [[noreturn]] void fail(const Pending& pending, const std::string& why) const;

    Hello us_;
    std::vector<Descriptor> listeners_;
    std::vector<std::vector<Endpoint>> endpoints_;
    std::string congestion_;
    std::vector<Pending> pending_;
    std::vector<std::vector<Descriptor>> sockets_;  ///< by channel and rank
    std::size_t established_ = 0;
    std::optional<MeshError> lost_;  ///< the first connection that broke
    Clock::time_point lost_at_{};
};

}  // namespace plink::engine
