#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective.hpp"
#include "inbox.hpp"
#include "rendezvous.hpp"
#include "schedule.hpp"
#include "supervisor.hpp"
#include "worker.hpp"

namespace plink::engine {

struct EngineOptions {
    std::size_t chunk_bytes;  ///< 0 for a size that suits each buffer
    bool in_order;            ///< add contributions in a fixed order
    double silence_s;
    double stall_s;
    int send_buffer_bytes;           ///< of each connection; 0 for what suits its peer
    Spin spin;                       ///< of a caller that carries a small collective
    std::vector<int> cores;          ///< by worker, to be pinned to; empty for none
    int most_in_flight;              ///< collectives of a worker at once
    std::string far_congestion;      ///< of TCP to peers that are not near; empty for what it has
    std::string distant_congestion;  ///< the same to those that are very far
};

/// A collective as the user asks for it.
struct Request {
    Kind kind;
    DType dtype;
    Op op;
    int root;                                 ///< -1 where there is none
    std::vector<std::size_t> counts;          ///< items: by rank, or of the whole buffer; sent
    std::vector<std::size_t> receive_counts;  ///< items by rank, of an exchange
    int priority;
    const void* input;
    void* output;  ///< the same where it is in place
    /// What else all ranks must call alike, as a number: what is moved as bytes has types.
    std::uint64_t layout = 0;
};

/// The engine has failed for good; `rank` is the culprit's.
struct EngineFailed : std::runtime_error {
    EngineFailed(int its_rank, const std::string& text)
        : std::runtime_error(text), rank(its_rank) {}
    int rank;
};

/// What the kernel says of a connection.
struct ConnectionFigures {
    int peer;
    int worker;
    bool is_shared_memory;  ///< then there are no figures but the bytes
    std::uint64_t bytes_sent;
    std::uint64_t bytes_received;
    std::uint32_t rtt_us;
    std::uint32_t rtt_variation_us;
    std::uint32_t least_rtt_us;
    std::uint64_t delivery_rate_bytes_s;
    std::uint32_t retransmissions;    ///< segments, in all
    std::uint32_t congestion_window;  ///< segments
    std::uint64_t busy_us;            ///< with data to send
    std::uint64_t receiver_limited_us;
    std::uint64_t buffer_limited_us;
    std::string congestion_control;
    std::string cipher;           ///< of TLS; empty where bytes go in the clear
    bool is_encrypted_by_kernel;  ///< what is sent
};

/// What a worker did with buffers that several share.
struct WorkerFigures {
    std::uint64_t busy_us;
    std::uint64_t bytes;
    double weight;  ///< its share of the next ones
};

/// One rank: workers that carry data, and a supervisor.
class Engine final : private Supervised, private Mailbox {
  public:
    /// `lines`: by channel (the workers', then control) and rank. `names`: by rank.
    Engine(int rank, int ranks, EngineOptions options, Forest forest,
           std::vector<std::vector<Line>> lines, std::vector<std::string> names);
    ~Engine();

    /// Begins a collective. Its buffers must stay until it has ended, whatever its end.
    ///
    /// Throws EngineFailed, and std::invalid_argument where a buffer has too many chunks.
    std::shared_ptr<Collective> post(const Request& request);
    /// From collective `at` on another forest counts. Throws std::invalid_argument where that has
    /// begun here.
    void install(Forest forest, std::uint64_t at);
    /// From collective `at` on the workers' shares are these. Throws as `install`.
    void weigh_workers(WorkerWeights weights, std::uint64_t at);
    /// Begins to send a message. It ends when all of it is with the kernel: a large one, once the
    /// peer receives it. Messages of one peer and tag arrive in the order of the calls.
    ///
    /// Throws EngineFailed.
    std::shared_ptr<Message> send(const void* data, Content content, int peer, std::uint32_t tag);
    /// Begins to receive a message of just so many bytes; with a negative peer from any rank.
    ///
    /// Throws EngineFailed.
    std::shared_ptr<Message> receive(void* data, Content content, int peer, std::uint32_t tag);
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    /// How many collectives were posted.
    std::uint64_t posted() const;
    /// Throws EngineFailed where that is so.
    void check() const;
    /// Returns when nothing is pending, the engine has failed, or no byte has moved for `grace_s`:
    /// what all ranks have joined moves on.
    void drain(double grace_s);
    /// Ends everything; what is pending fails.
    void close();
    std::vector<ConnectionFigures> figures() const;
    std::vector<WorkerFigures> worker_figures() const;
    /// Who tells all ranks something beside the collectives, and hears it.
    Supervisor& supervisor() { return *supervisor_; }

  private:
    /// A worker's connection to a near peer, whose send buffer suits the plan.
    struct Near {
        int fd;
        int least_bytes;
    };

    Pending pending() override;
    std::optional<std::uint16_t> signature(std::uint64_t collective) override;
    void fail(const Report& verdict) override;
    void hear(int peer, std::uint16_t id, Note note, const Wish& wish) override;
    std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard, const Wish& wish) override;
    void finish(const std::shared_ptr<Eager>& eager) override;
    void end_arrivals() override;
    void hear_offer(int peer, std::uint16_t heard, const Wish& wish);
    void offer(int peer, std::uint32_t tag, const Rendezvous::Unwanted& unwanted,
               Worker::Wake wake);
    void take_in(const Eager& eager);
    void begin_sending(const std::shared_ptr<Message>& message, const Rendezvous::Leave& leave);
    void begin_receiving_locked(const std::shared_ptr<Message>& message, int peer);
    void post_to_workers(const std::shared_ptr<Message>& message);
    void leave_without_workers(const std::shared_ptr<Message>& message);
    void end_messages();
    void check_locked() const;
    void check_ahead_locked(std::uint64_t collective) const;
    std::shared_ptr<Collective> begun(const Request& request);
    std::shared_ptr<Collective> made_locked(const Request& request);
    void bound_near_locked(int bytes);
    void forget_finished_locked();
    std::uint64_t moved_bytes() const;
    void linger();

    const int rank_;
    const int ranks_;
    const EngineOptions options_;
    std::mutex closing_;  ///< who closes it a second time waits for the first
    mutable std::mutex mutex_;
    std::uint64_t posted_ = 0;
    std::array<std::uint16_t, 256> signatures_{};  ///< of the latest, by number modulo their number
    std::map<std::uint64_t, std::shared_ptr<Plan>> plans_;     ///< by their first collective
    std::map<std::uint64_t, WorkerWeights> weights_{{0, {}}};  ///< by their first collective
    std::deque<std::shared_ptr<Collective>> unfinished_;
    Rendezvous rendezvous_;
    std::mutex messages_mutex_;
    Inbox inbox_;  ///< as the following, under `messages_mutex_`
    std::deque<std::shared_ptr<Message>> without_workers_;  ///< fail when the engine does
    bool have_messages_ended_ = false;
    std::deque<std::shared_ptr<Message>> unfinished_messages_;
    std::optional<EngineFailed> failure_;
    bool has_peer_left_ = false;  ///< that is the failure: what others had joined may go on there
    bool is_closed_ = false;
    std::vector<std::shared_ptr<Worker>> workers_;
    std::vector<Near> near_;  ///< of connections that the workers have
    std::unique_ptr<Supervisor> supervisor_;
};

}  // namespace plink::engine
