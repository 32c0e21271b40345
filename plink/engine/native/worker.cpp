#include "worker.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace plink::engine {

namespace {

constexpr int kEventsAtOnce = 64;
// Events are looked for at least every so many turns of attention.
constexpr int kTurnsBetweenEvents = 8;
// In which a caller that wants to wait for a small collective will do so.
constexpr auto kLongestWatch = std::chrono::seconds(1);

}  // namespace

Worker::Worker(int index, int rank, std::vector<Line> lines, WorkerOptions options,
               Complaints& complaints, Mailbox& mailbox)
    : index_(index),
      rank_(rank),
      options_(options),
      complaints_(complaints),
      mailbox_(mailbox),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      vigil_(options.spin),
      pace_(options.pace) {
    if (!epoll_.is_open()) throw std::runtime_error("no epoll: " + text_of(errno));
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, alarm_.fd(), &event);
    for (std::size_t peer = 0; peer < lines.size(); ++peer) {
        connections_.push_back(nullptr);
        if (!lines[peer].socket.is_open()) continue;
        connections_.back() =
            std::make_unique<Connection>(std::move(lines[peer]), static_cast<int>(peer));
        event.events = connections_.back()->watched();
        event.data.ptr = connections_.back().get();
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connections_.back()->fd(), &event);
    }
    thread_ = std::thread([this] { run(); });
}

Worker::~Worker() { stop(); }

bool Worker::post(std::shared_ptr<Collective> collective) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopped_) return false;
    announced_ = collective->number + 1;
    // Two in a row that nobody has waited for: the caller has something else to do.
    const bool may_be_carried = !collective->carrier.expired() && posted_.empty();
    posted_.push_back(std::move(collective));
    if (driver_ != Driver::kNobody) {
        alarm_.ring();
    } else if (may_be_carried) {
        wake_up_.call_in(kUntilWaitedFor);
    } else {
        wake_up_.call();
    }
    return true;
}

void Worker::skip(std::uint64_t collective) {
    const std::lock_guard<std::mutex> lock(mutex_);
    announced_ = collective + 1;
}

void Worker::halt() {
    must_stop_ = true;
    alarm_.ring();
    wake_up_.call();
}

void Worker::stop() {
    halt();
    if (thread_.joinable()) thread_.join();
}

void Worker::SlotOutbox::send(int peer, std::uint32_t chunk, Phase phase) {
    Connection& connection = *worker_.connections_[peer];
    connection.queue(slot_, chunk, phase);
    worker_.attend_later(connection);
}

void Worker::SlotOutbox::widen() {
    const Share& share = worker_.slots_[slot_].part->share();
    for (const auto& connection : worker_.connections_) {
        if (connection && !share.ready[connection->peer].empty()) worker_.attend_later(*connection);
    }
}

const InFlight* Worker::find(std::uint16_t collective) const {
    for (const InFlight& in_flight : *this) {
        if (!in_flight.is_message && static_cast<std::uint16_t>(in_flight.number()) == collective) {
            return &in_flight;
        }
    }
    std::uint64_t next;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        next = posted_.empty() ? announced_ : posted_.front()->number;
    }
    const auto ahead = static_cast<std::int16_t>(collective - static_cast<std::uint16_t>(next));
    if (ahead < 0) {
        const auto behind = static_cast<std::uint64_t>(-static_cast<int>(ahead));
        // All that it is here has arrived: there it is larger.
        if (behind <= next) throw Mismatch(mismatch_text(next - behind));
        throw std::runtime_error("it sent a frame of collective " + std::to_string(collective) +
                                 ", which is over");
    }
    return nullptr;
}

void Worker::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    if (options_.core >= 0) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        CPU_SET(options_.core, &cores);
        pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores);
    }
    while (take_up()) {
        begin_posted();
        attend_some();
        while (has_work() && !must_stop_.load(std::memory_order_relaxed)) {
            watch(waiting_.empty() ? -1 : 0);
            attend_some();
        }
        hand_back();
    }
    give_up();
}

/// Sleeps until there is something to drive; false where the worker must stop, and nobody drives.
bool Worker::take_up() {
    for (;;) {
        wake_up_.sleep();
        const std::lock_guard<std::mutex> lock(mutex_);
        if (driver_ != Driver::kNobody) continue;
        if (must_stop_) return false;
        if (posted_.empty() && posted_messages_.empty() && words_.empty() && !has_work()) continue;
        drive_locked(Driver::kThread);
        return true;
    }
}

void Worker::hand_back() {
    const std::lock_guard<std::mutex> lock(mutex_);
    driver_ = Driver::kNobody;
    if (must_stop_ || !posted_.empty() || !posted_messages_.empty() || !words_.empty() ||
        has_work()) {
        wake_up_.call();
    }
}

void Worker::carry(Collective& collective, Collective::Clock::time_point until) noexcept {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (driver_ != Driver::kNobody || must_stop_) return;
        if (collective.status() != Collective::Status::kPending) return;
        drive_locked(Driver::kCaller);
    }
    wake_up_.cancel();
    begin_posted();
    attend_some();
    vigil_.stir(Collective::Clock::now());
    while (collective.status() == Collective::Status::kPending && !must_stop_) {
        const auto now = Collective::Clock::now();
        const auto left = until - now;
        if (left <= left.zero()) break;
        const bool is_idle = waiting_.empty();
        const bool may_sleep = is_idle && vigil_.may_sleep(now);
        const auto most = std::chrono::ceil<std::chrono::milliseconds>(
            std::min<decltype(left)>(left, kLongestWatch));
        const int events = watch(may_sleep ? static_cast<int>(most.count()) : 0);
        if (events < 0) break;
        if (!is_idle || events > 0) {
            vigil_.stir(now);
        } else if (!may_sleep) {
            vigil_.let_others(now);
        }
        attend_some();
    }
    hand_back();
}

void Worker::attend_some() {
    for (int turn = 0; turn < kTurnsBetweenEvents && !waiting_.empty(); ++turn) {
        Connection& connection = *waiting_.front();
        waiting_.pop_front();
        connection.is_queued = false;
        attend(connection);
        retire();
        if (std::exchange(is_posted_by_driver_, false)) begin_posted();
    }
}

/// How many events came; less than 0 where it was a signal.
int Worker::watch(int milliseconds) {
    epoll_event events[kEventsAtOnce];
    const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, milliseconds);
    if (count < 0) return count;
    for (int i = 0; i < count; ++i) {
        auto* connection = static_cast<Connection*>(events[i].data.ptr);
        if (connection == nullptr) {
            alarm_.silence();
            begin_posted();
            continue;
        }
        connection->notice(events[i].events);
        attend_later(*connection);
    }
    return count;
}

void Worker::attend_later(Connection& connection) {
    if (connection.is_queued) return;
    if (!connection.can_read() && !connection.can_write(*this)) return;
    connection.is_queued = true;
    waiting_.push_back(&connection);
}

void Worker::attend(Connection& connection) {
    try {
        if (connection.can_read()) connection.read(staging_, *this);
        if (connection.can_write(*this)) connection.write(*this);
    } catch (const ConnectionLost& lost) {
        drop(connection, Cause::kLost, lost.what());
    } catch (const Mismatch& mismatch) {
        drop(connection, Cause::kMismatch, mismatch.what());
    } catch (const std::runtime_error& error) {
        drop(connection, Cause::kProtocol, error.what());
    }
    attend_later(connection);
}

void Worker::drop(Connection& connection, Cause cause, const char* what) {
    connection.is_lost = true;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
    complaints_.complain(cause, connection.peer, what);
}

/// Ends what is over, and begins what waited for its place.
void Worker::retire() {
    bool has_room = false;
    for (std::size_t i = 0; i < in_flight_.size();) {
        if (!in_flight_[i].part->is_over()) {
            ++i;
            continue;
        }
        const std::unique_ptr<Part> part = std::move(slots_[in_flight_[i].slot].part);
        if (!in_flight_[i].is_message) --collectives_in_flight_;
        in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
        has_room = true;
        meter_.end(part->collective()->worker_bytes(index_));
        part->collective()->end_part(true);
    }
    if (has_room) begin_posted();
}

void Worker::begin_posted() {
    tell_posted();
    for (;;) {
        std::shared_ptr<Message> message;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (posted_messages_.empty()) break;
            message = posted_messages_.front();
        }
        begin(message);
        const std::lock_guard<std::mutex> lock(mutex_);
        posted_messages_.pop_front();
    }
    bool has_begun = false;
    while (collectives_in_flight_ < static_cast<std::size_t>(options_.most_in_flight)) {
        std::shared_ptr<Collective> collective;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (posted_.empty()) break;
            collective = std::move(posted_.front());
            posted_.pop_front();
        }
        begin(std::move(collective));
        has_begun = true;
    }
    // Then events say what comes; what came before the first does not.
    if (!has_begun && (expected_ == 0 || std::exchange(has_attended_all_, true))) return;
    // Every rank begins with another peer, so that not all of them send to the same one first.
    const std::size_t ranks = connections_.size();
    for (std::size_t step = 1; step < ranks; ++step) {
        Connection& connection = *connections_[(rank_ + step) % ranks];
        connection.resume();
        attend_later(connection);
    }
}

void Worker::begin(std::shared_ptr<Collective> collective) {
    collective->begin_part();
    meter_.begin(collective->worker_bytes(index_));
    const int slot = free_slot();
    slots_[slot].part = collective->part(collective, index_, options_.in_order, pace_);
    const InFlight begun{slots_[slot].part.get(), &slots_[slot].outbox, slot, false};
    // Only what has a priority is worth a note: among equals the older goes first anyway.
    const bool is_told = !collective->sole_worker() && collective->priority != 0;
    const auto place =
        std::find_if(in_flight_.begin(), in_flight_.end(), [&begun](const InFlight& other) {
            return !other.is_message && other.priority() < begun.priority();
        });
    in_flight_.insert(place, begun);
    ++collectives_in_flight_;
    for (const auto& connection : connections_) {
        if (connection) connection->begin(begun, is_told);
    }
}

int Worker::free_slot() {
    const auto is_free = [](const Slot& slot) { return slot.part == nullptr; };
    const auto found = std::find_if(slots_.begin(), slots_.end(), is_free);
    if (found != slots_.end()) return static_cast<int>(found - slots_.begin());
    slots_.emplace_back(*this, static_cast<int>(slots_.size()));
    return static_cast<int>(slots_.size()) - 1;
}

void Worker::give_up() {
    std::deque<std::shared_ptr<Collective>> posted;
    std::deque<std::shared_ptr<Message>> messages;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopped_ = true;
        posted.swap(posted_);
        messages.swap(posted_messages_);
    }
    for (const auto& message : messages) message->end_part(false);
    for (const InFlight& in_flight : *this) in_flight.part->collective()->end_part(false);
    for (const auto& collective : posted) collective->end_part(false);
    in_flight_.clear();
    if (index_ == 0) mailbox_.end_arrivals();
}

}  // namespace plink::engine
