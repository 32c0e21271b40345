#include "loop.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace plink::hub {

namespace {

constexpr int kEventsAtOnce = 64;
// Between two looks at what else has come.
constexpr int kTurnsBetweenEvents = 16;

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
        watch(ready_.empty() ? -1 : 0);
        serve();
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
    std::vector<Command> commands;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        commands.swap(commands_);
    }
    for (const Command& command : commands) command();
}

void Loop::attend_later(Link& link) {
    if (link.is_queued || (!link.can_read() && !link.can_write())) return;
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
    try {
        if (link.can_write()) moved += link.write();
    } catch (const ConnectionLost& lost) {
        lose(link, Event::What::kLost, lost.what());
        return moved;
    }
    if (link.is_ending && link.outbox.is_empty()) ::shutdown(link.fd(), SHUT_WR);
    return moved;
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
    if (!link.is_ending) tell(link, what, why);
    TenantTurn& turn = *link.tenant;
    if (link.is_queued) {
        turn.waiting.erase(std::find(turn.waiting.begin(), turn.waiting.end(), &link));
        if (turn.waiting.empty()) ready_.erase(std::find(ready_.begin(), ready_.end(), &turn));
    }
    const auto is_it = [&link](const std::unique_ptr<Link>& other) { return other.get() == &link; };
    const auto at = std::find_if(turn.links.begin(), turn.links.end(), is_it);
    const std::uint32_t lane = link.lane.options().lane;
    dead_.push_back(std::move(*at));
    turn.links.erase(at);
    share_out(lane);
}

/// Once no event can be of them any more.
void Loop::bury() { dead_.clear(); }

}  // namespace plink::hub
