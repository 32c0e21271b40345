#include "loop.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace plink::hub {

namespace {

constexpr int kEventsAtOnce = 64;
// Between two looks at what else has come.
constexpr int kTurnsBetweenEvents = 16;
// No event tells that what is on its way has become less.
constexpr int kLookMilliseconds = 1;
// Of a lane at a time, where all its chunks are stepped together; some tenths of a millisecond.
constexpr std::size_t kCommitBytes = std::size_t{1} << 20;

void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(core), &set);
    // Where the process may not use that core any more, the thread runs where it may.
    ::pthread_setaffinity_np(::pthread_self(), sizeof(set), &set);
}

}  // namespace

Loop::Loop(std::shared_ptr<Events> events, int core)
    : events_(std::move(events)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.is_open()) throw std::runtime_error("no epoll: " + transport::text_of(errno));
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, alarm_.fd(), &event);
    thread_ = std::thread([this, core] {
        if (core >= 0) pin(core);
        run();
    });
}

Loop::~Loop() { stop(); }

void Loop::stop() {
    must_stop_ = true;
    alarm_.ring();
    if (thread_.joinable()) thread_.join();
}

void Loop::call(const Command& command) {
    std::promise<void> done;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_stopped_) throw std::runtime_error("the loop has stopped");
        commands_.push_back([&] {
            try {
                command();
                done.set_value();
            } catch (...) {
                done.set_exception(std::current_exception());
            }
        });
    }
    alarm_.ring();
    done.get_future().get();
}

void Loop::run() {
    while (!must_stop_) {
        bury();
        const bool is_busy = !ready_.empty() || !committing_.empty();
        watch(is_busy ? 0 : is_any_held() ? kLookMilliseconds : -1);
        serve();
        commit(kCommitBytes);
        if (is_any_held()) send_in_turn();
        look_at_ways_in();
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopped_ = true;
    }
    obey();
    tenants_.clear();
}

void Loop::watch(int milliseconds) {
    epoll_event events[kEventsAtOnce];
    const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, milliseconds);
    bool has_commands = false;
    for (int i = 0; i < count; ++i) {
        auto* const link = static_cast<Link*>(events[i].data.ptr);
        if (link == nullptr) {
            has_commands = true;
            continue;
        }
        const std::uint32_t come = events[i].events;
        if (come & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) link->is_readable = true;
        if (come & (EPOLLOUT | EPOLLERR)) link->is_writable = true;
        attend_later(*link);
    }
    // Last, since they may end connections that events are of.
    if (has_commands) obey();
}

void Loop::obey() {
    alarm_.silence();
    // Who comes or goes does so between iterations, or before the norm is known.
    while (!committing_.empty()) commit(SIZE_MAX);
    std::vector<Command> commands;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        commands.swap(commands_);
    }
    for (const Command& command : commands) command();
}

void Loop::attend_later(Link& link) {
    if (link.is_queued || (!link.can_read() && (!link.can_write() || link.is_held))) return;
    link.is_queued = true;
    TenantTurn& turn = *link.tenant;
    if (turn.waiting.empty()) {
        // Who had nothing to do has not saved up for later.
        turn.virtual_time = std::max(turn.virtual_time, virtual_time_);
        ready_.push_back(&turn);
    }
    turn.waiting.push_back(&link);
}

/// The one that has had the least for its weight.
TenantTurn* Loop::next_turn() {
    const auto has_less = [](const TenantTurn* a, const TenantTurn* b) {
        return a->virtual_time < b->virtual_time;
    };
    return *std::min_element(ready_.begin(), ready_.end(), has_less);
}

void Loop::serve() {
    for (int i = 0; i < kTurnsBetweenEvents && !ready_.empty(); ++i) {
        TenantTurn& turn = *next_turn();
        virtual_time_ = turn.virtual_time;
        Link& link = *turn.waiting.front();
        turn.waiting.pop_front();
        link.is_queued = false;
        // It joins the others again behind them.
        if (turn.waiting.empty()) ready_.erase(std::find(ready_.begin(), ready_.end(), &turn));
        turn.virtual_time += static_cast<double>(attend(link) + 1) / turn.weight;
        if (!link.is_over) attend_later(link);
    }
}

std::size_t Loop::attend(Link& link) {
    std::size_t moved = 0;
    try {
        if (link.can_read()) moved += link.read(scratch_);
    } catch (const ConnectionLost& lost) {
        lose(link, Event::What::kLost, lost.what());
        return moved;
    } catch (const std::runtime_error& fault) {
        tell(link, Event::What::kFault, fault.what());
        link.end(fault.what());
    }
    if (link.lane.is_committing()) {
        const std::pair<TenantTurn*, Lane*> its{link.tenant, &link.lane};
        if (std::find(committing_.begin(), committing_.end(), its) == committing_.end()) {
            committing_.push_back(its);
        }
    }
    if (link.can_write() && !is_waiting_for_its_turn(link)) {
        send_some(link, Outbox::kMostBytesAtOnce, moved);
    }
    return moved;
}

/// False where the connection is lost by that.
bool Loop::send_some(Link& link, std::size_t most, std::size_t& moved) {
    try {
        moved += link.write(most);
    } catch (const ConnectionLost& lost) {
        lose(link, Event::What::kLost, lost.what());
        return false;
    }
    if (link.is_ending && link.outbox.is_empty()) ::shutdown(link.fd(), SHUT_WR);
    return true;
}

bool Loop::is_waiting_for_its_turn(Link& link) {
    if (!link.is_near() || link.rack >= 0) return false;
    WayOut& way = ways_out_[link.lane.options().lane];
    if (ways_in_[link.lane.options().lane].is_contended()) way.wait(link);
    return link.is_held;
}

bool Loop::is_any_held() const {
    return std::any_of(ways_out_.begin(), ways_out_.end(),
                       [](const auto& way) { return way.second.has_waiting(); });
}

void Loop::send_in_turn() {
    for (auto& [lane, way] : ways_out_) {
        way.look();
        while (Link* const link = way.next()) {
            std::size_t moved = 0;
            if (!link->can_write() || !send_some(*link, WayOut::kTurnBytes, moved)) continue;
            way.sent(*link, moved);
            if (link->can_write()) way.wait(*link);
        }
    }
}

void Loop::tell(const Link& link, Event::What what, const std::string& why) {
    const LaneOptions& options = link.lane.options();
    const bool is_peer = link.rack >= 0;
    const std::uint32_t who = is_peer ? static_cast<std::uint32_t>(link.rack) : link.worker;
    events_->add({is_peer ? Event::What::kPeerLost : what, options.tenant, options.lane, who,
                  link.incarnation, why});
}

void Loop::lose(Link& link, Event::What what, const std::string& why) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, link.fd(), nullptr);
    link.is_over = true;
    link.lane.leave(link);
    const std::uint32_t lane = link.lane.options().lane;
    ways_in_[lane].leave(link);
    WayOut& way_out = ways_out_[lane];
    way_out.leave(link);
    if (!link.is_ending) tell(link, what, why);
    TenantTurn& turn = *link.tenant;
    if (link.is_queued) {
        turn.waiting.erase(std::find(turn.waiting.begin(), turn.waiting.end(), &link));
        if (turn.waiting.empty()) ready_.erase(std::find(ready_.begin(), ready_.end(), &turn));
    }
    const auto is_it = [&link](const std::unique_ptr<Link>& other) { return other.get() == &link; };
    const auto at = std::find_if(turn.links.begin(), turn.links.end(), is_it);
    dead_.push_back(std::move(*at));
    turn.links.erase(at);
    if (way_out.is_shared()) return;
    for (Link* const other : way_out.release()) attend_later(*other);
}

/// A slice of each lane, so that others are served between.
void Loop::commit(std::size_t most_bytes) {
    for (const auto& [turn, lane] : committing_) {
        const std::size_t bytes = lane->commit(most_bytes);
        turn->virtual_time += static_cast<double>(bytes) / turn->weight;
    }
    const auto is_done = [](const auto& its) { return !its.second->is_committing(); };
    committing_.erase(std::remove_if(committing_.begin(), committing_.end(), is_done),
                      committing_.end());
}

void Loop::look_at_ways_in() {
    using Seconds = std::chrono::duration<double>;
    const Seconds now = std::chrono::steady_clock::now().time_since_epoch();
    for (auto& [lane, way] : ways_in_) {
        way.look(now.count());
    }
}

/// Once no event can be of them any more.
void Loop::bury() { dead_.clear(); }

}  // namespace plink::hub
