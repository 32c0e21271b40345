#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "events.hpp"
#include "lane.hpp"
#include "link.hpp"
#include "way_in.hpp"
#include "way_out.hpp"

namespace plink::hub {

/// A service's part of a loop. It gets its share of the loop's work by its weight, however many
/// connections it has.
struct TenantTurn {
    double weight = 1.0;
    double virtual_time = 0.0;  ///< bytes moved so far, over the weight
    std::deque<Link*> waiting;
    std::map<std::uint32_t, std::unique_ptr<Lane>> lanes;
    std::vector<std::unique_ptr<Link>> links;
};

struct LinkFigures {
    std::uint32_t lane;
    std::uint32_t worker;
    std::uint64_t bytes_in;
    std::uint64_t bytes_out;
};

/// One thread that serves lanes of all services, and their connections.
class Loop {
  public:
    /// `core` is what the thread is pinned to; less than 0 for none.
    Loop(std::shared_ptr<Events> events, int core);
    Loop(const Loop&) = delete;
    ~Loop();

    // From any thread. Each waits until the loop has done it.
    void open(const LaneOptions& options, std::vector<ChunkPlace> places, double weight);
    void adopt(std::uint32_t tenant, std::uint32_t lane, std::uint32_t worker,
               std::uint16_t incarnation, transport::Stream stream);
    /// The same from another rack's server.
    void adopt_peer(std::uint32_t tenant, std::uint32_t lane, std::uint32_t rack,
                    transport::Stream stream);
    /// Tells all workers why it ends.
    void fail(std::uint32_t tenant, const std::string& why);
    /// A worker is done.
    void retire(std::uint32_t tenant, std::uint32_t worker, const std::string& why);
    /// As of `Lane`, for all lanes of a service here; false where it is too late for one of them.
    bool admit(std::uint32_t tenant, std::uint32_t worker, std::uint32_t since);
    void drop(std::uint32_t tenant, std::uint32_t worker, std::uint32_t since,
              std::uint32_t revision);
    void gather(std::uint32_t tenant);
    bool has_all_of(std::uint32_t tenant, std::uint32_t worker, std::uint32_t iteration);
    bool pass_over(std::uint32_t tenant, std::uint32_t iteration);
    /// Closes a worker's connections at once: nothing more of it comes.
    void cut(std::uint32_t tenant, std::uint32_t worker);
    bool copy_at(std::uint32_t tenant, std::uint32_t iteration);
    bool copy_now(std::uint32_t tenant, std::uint32_t lane, std::uint32_t iteration,
                  LaneCopy& into);
    LaneCopy take_copy(std::uint32_t tenant, std::uint32_t lane);
    void load(std::uint32_t tenant, std::uint32_t lane, const LaneCopy& copy);
    void close(std::uint32_t tenant);
    LaneFigures figures(std::uint32_t tenant, std::uint32_t lane);
    std::vector<LinkFigures> links(std::uint32_t tenant);

    /// Ends the thread and all connections.
    void stop();

  private:
    using Command = std::function<void()>;

    void call(const Command& command);
    void run();
    void watch(int milliseconds);
    void obey();
    void serve();
    TenantTurn* next_turn();
    void attend_later(Link& link);
    std::size_t attend(Link& link);
    bool send_some(Link& link, std::size_t most, std::size_t& moved);
    bool is_waiting_for_its_turn(Link& link);
    bool is_any_held() const;
    void send_in_turn();
    void tell(const Link& link, Event::What what, const std::string& why);
    void lose(Link& link, Event::What what, const std::string& why);
    void bury();
    void look_at_ways_in();
    void commit(std::size_t most_bytes);
    Link& watch_link(TenantTurn& turn, std::unique_ptr<Link> link);
    LaneCalls calls_of(const LaneOptions& options);
    TenantTurn& turn_of(std::uint32_t tenant);

    const std::shared_ptr<Events> events_;
    transport::Descriptor epoll_;
    transport::Alarm alarm_;
    Scratch scratch_;
    std::map<std::uint32_t, std::unique_ptr<TenantTurn>> tenants_;
    std::vector<TenantTurn*> ready_;
    double virtual_time_ = 0.0;
    std::map<std::uint32_t, WayIn> ways_in_;  ///< by lane
    std::map<std::uint32_t, WayOut> ways_out_;
    std::vector<std::pair<TenantTurn*, Lane*>> committing_;
    std::vector<std::unique_ptr<Link>> dead_;
    std::mutex mutex_;
    std::vector<Command> commands_;
    bool is_stopped_ = false;
    std::atomic<bool> must_stop_{false};
    std::thread thread_;
};

}  // namespace plink::hub
