#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client_link.hpp"
#include "socket.hpp"

namespace plink::hub {

/// What a worker's iteration came to.
struct StepResult {
    std::uint32_t iteration = 0;
    double squares = 0.0;  ///< of the mean gradient, where all chunks are stepped together
    bool is_skipped = false;
    std::uint32_t workers = 0;  ///< that contributed
};

struct ClientLinkFigures {
    std::uint32_t link;
    std::uint64_t bytes_in;
    std::uint64_t bytes_out;
};

/// A connection to a lane; closed where it has no chunks.
struct Dialled {
    transport::Stream stream;
    std::string server;  ///< for people
    std::uint16_t incarnation;
};

/// A worker's end of a service. One thread of its own carries the data.
class Client {
  public:
    /// `links`: by number. `is_by_step`: the service steps all
    /// chunks together.
    Client(std::vector<ClientChunk> chunks, float* gradients, float* values, Wire wire,
           bool is_by_step, std::uint32_t iteration, std::vector<Dialled> links);
    Client(const Client&) = delete;
    ~Client();

    /// Gets the first values, after it has sent its own if `is_source`. To be waited for.
    void initialise(bool is_source);
    /// The next iteration; throws std::logic_error where one is under way.
    std::uint32_t begin(std::vector<std::uint8_t> hypers);
    /// Numbers `first` to `end` of the flat array are ready.
    void push(std::size_t first, std::size_t end);
    /// None where it takes longer. Throws std::runtime_error where the service has failed.
    std::optional<StepResult> wait(double seconds);

    /// The last iteration that was pushed in full, sent or on its way; 0 where there is none.
    std::uint32_t last_contribution() const;

    /// Whether it has failed because connections broke, and not because the service has.
    bool is_lost() const { return is_lost_; }
    /// Goes on with the iteration under way by other connections, under another incarnation.
    void resume(std::vector<Dialled> links);

    std::vector<ClientLinkFigures> figures() const;
    void close();

  private:
    struct Posted {
        bool is_pull = false;
        bool is_source = false;
        std::vector<std::uint8_t> hypers;
        std::uint32_t iteration = 0;
    };

    void run();
    void watch(int milliseconds);
    void take_posted();
    void watch_links(std::vector<Dialled> links);
    void begin_posted(const Posted& posted);
    void move();
    void settle();
    void send_total();
    void fail(const std::string& why);
    void check() const;
    void post(Posted posted);

    ClientState state_;
    const bool is_by_step_;
    const std::uint32_t joined_after_;  ///< this iteration, and contributes to the next ones
    std::vector<std::unique_ptr<ClientLink>> links_;
    std::size_t partials_wanted_ = 0;
    double total_ = 0.0;
    bool is_under_way_ = false;  ///< as the thread sees it

    transport::Descriptor epoll_;
    transport::Alarm alarm_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Posted> posted_;
    Posted begun_;                              ///< last
    std::vector<std::uint32_t> ready_;          ///< chunks that may go
    std::vector<std::uint32_t> items_missing_;  ///< by chunk, until it may go
    std::uint32_t iteration_;                   ///< of the last begun
    bool is_pending_ = false;                   ///< as callers see it
    std::optional<StepResult> result_;
    std::string failure_;
    std::atomic<bool> has_failed_{false};
    std::atomic<bool> is_lost_{false};
    std::atomic<bool> must_stop_{false};
    std::thread thread_;
};

}  // namespace plink::hub
