#include "engine.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include "exchange.hpp"
#include "tree_collective.hpp"

namespace plink::engine {

namespace {

using namespace std::chrono_literals;

// For what was sent last to reach the peers' hosts.
constexpr auto kLinger = 2s;
constexpr auto kDrainLook = 1ms;

// Of all connections that a rank sends on. The kernel doubles it, for its own overhead; that is
// about what the cache next to a core holds, and few enough wake-ups. The window sees to it that
// uplinks which many ranks share are not flooded.
constexpr int kSendBuffersBytes = 512 << 10;
constexpr int kLeastSendBufferBytes = 16 << 10;
constexpr int kMostSendBufferBytes = 256 << 10;

/// What is received soon after it was put into a send buffer is copied within the processor's
/// cache, and the kernel uses the same few pages again and again; and what is completed meanwhile
/// does not wait behind much that nobody waits for yet.
int near_send_buffer_bytes(const Places& places, int workers) {
    std::set<int> receivers;
    for (int route = 0; route < places.routes(); ++route) {
        const Places::Place& place = places.in(route);
        receivers.insert(place.reduce_parent);
        receivers.insert(place.broadcast_children.begin(), place.broadcast_children.end());
    }
    receivers.erase(-1);
    const int connections = std::max(1, static_cast<int>(receivers.size()) * workers);
    return std::clamp(kSendBuffersBytes / connections, kLeastSendBufferBytes, kMostSendBufferBytes);
}

// Of a far connection, whose window is the kernel's to find: what is more would only wait in front
// of what is wanted sooner.
constexpr int kFarUnsentBytes = 256 << 10;

void set_figures(int fd, ConnectionFigures& figures) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return;
    figures.rtt_us = info.tcpi_rtt;
    figures.rtt_variation_us = info.tcpi_rttvar;
    figures.least_rtt_us = info.tcpi_min_rtt;
    figures.delivery_rate_bytes_s = info.tcpi_delivery_rate;
    figures.retransmissions = info.tcpi_total_retrans;
    figures.congestion_window = info.tcpi_snd_cwnd;
    figures.busy_us = info.tcpi_busy_time;
    figures.receiver_limited_us = info.tcpi_rwnd_limited;
    figures.buffer_limited_us = info.tcpi_sndbuf_limited;
    figures.congestion_control = congestion_control(fd);
}

}  // namespace

Engine::Engine(int rank, int ranks, EngineOptions options, Forest forest,
               std::vector<std::vector<Line>> lines, std::vector<std::string> names)
    : rank_(rank), ranks_(ranks), options_(std::move(options)), rendezvous_(ranks), inbox_(ranks) {
    const int workers = static_cast<int>(lines.size()) - 1;
    const auto plan =
        std::make_shared<Plan>(std::move(forest), rank, workers, options_.chunk_bytes);
    plans_[0] = plan;
    std::vector<Stream> controls;
    for (Line& line : lines.back()) {
        if (line.socket.is_open()) {
            limit_silence(line.socket.get(), options_.silence_s);
            ask_for_low_delay(line.socket.get());
        }
        controls.push_back(std::move(line.socket));
    }
    Supervised& supervised = *this;
    Mailbox& mailbox = *this;
    supervisor_ = std::make_unique<Supervisor>(
        rank, std::move(controls), std::move(names),
        SupervisorOptions{options_.silence_s, options_.stall_s}, supervised);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int worker = 0; worker < workers; ++worker) {
        Pace pace;
        for (Line& line : lines[worker]) {
            if (!line.socket.is_open() || line.memory) continue;
            const int fd = line.socket.get();
            keep_alive(fd);
            const bool is_of_near = is_near(fd);
            // Farther away, more must be under way than one collective can find out.
            if (!is_of_near) {
                pace.is_followed = false;
                line.is_far = true;
                bound_unsent(fd, kFarUnsentBytes);
                const std::string& control =
                    is_distant(fd) ? options_.distant_congestion : options_.far_congestion;
                if (!control.empty()) set_congestion_control(fd, control);
            }
            if (options_.send_buffer_bytes != 0) {
                bound_send_buffer(fd, options_.send_buffer_bytes);
            } else if (is_of_near) {
                // Half a segment would wait for the acknowledgement of the one before.
                near_.push_back({fd, 2 * segment_bytes(fd)});
            }
        }
        const int core =
            options_.cores.empty()
                ? -1
                : options_.cores[static_cast<std::size_t>(worker) % options_.cores.size()];
        workers_.push_back(std::make_shared<Worker>(
            worker, rank, std::move(lines[worker]),
            WorkerOptions{options_.in_order, options_.most_in_flight, core, options_.spin, pace},
            *supervisor_, mailbox));
    }
    bound_near_locked(near_send_buffer_bytes(plan->places(), workers));
}

void Engine::bound_near_locked(int bytes) {
    for (const Near& near : near_) bound_send_buffer(near.fd, std::max(bytes, near.least_bytes));
}

Engine::~Engine() { close(); }

void Engine::check_locked() const {
    if (failure_) throw *failure_;
    if (is_closed_) throw EngineFailed(rank_, "the engine is closed");
}

void Engine::check() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
}

std::shared_ptr<Collective> Engine::post(const Request& request) {
    std::shared_ptr<Collective> collective = begun(request);
    collective->copy_own();
    return collective;
}

std::shared_ptr<Collective> Engine::begun(const Request& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
    std::shared_ptr<Collective> collective = made_locked(request);
    weights_.erase(weights_.begin(), std::prev(weights_.upper_bound(posted_)));
    plans_.erase(plans_.begin(), std::prev(plans_.upper_bound(posted_)));
    signatures_[posted_ % signatures_.size()] = collective->signature;
    ++posted_;
    int parts = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (!collective->share(static_cast<int>(i)).is_empty()) ++parts;
    }
    const auto sole_worker = collective->sole_worker();
    if (sole_worker && parts > 0) collective->carrier = workers_[*sole_worker];
    collective->expect_parts(parts);
    forget_finished_locked();
    if (collective->status() == Collective::Status::kPending) unfinished_.push_back(collective);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (collective->share(static_cast<int>(i)).is_empty()) {
            workers_[i]->skip(collective->number);
        } else if (!workers_[i]->post(collective)) {
            collective->end_part(false);
        }
    }
    if (supervisor_->least_left() <= collective->number) supervisor_->look_again();
    return collective;
}

std::shared_ptr<Collective> Engine::made_locked(const Request& request) {
    const WorkerWeights& weights = std::prev(weights_.upper_bound(posted_))->second;
    if (is_exchange(request.kind)) {
        Messages messages{request.kind, request.root, request.counts, request.receive_counts,
                          request.layout};
        for (auto* counts : {&messages.send_bytes, &messages.receive_bytes}) {
            for (std::size_t& count : *counts) count *= item_bytes(request.dtype);
        }
        return std::make_shared<Exchange>(posted_, std::move(messages), request.input,
                                          request.output, rank_, static_cast<int>(workers_.size()),
                                          weights, options_.chunk_bytes, request.priority);
    }
    Plan& plan = *std::prev(plans_.upper_bound(posted_))->second;
    const Call call{request.kind, request.dtype, request.root, request.counts};
    return std::make_shared<TreeCollective>(posted_, plan.schedule(call, weights), request.input,
                                            request.output, request.op, ranks_, request.priority,
                                            request.layout);
}

void Engine::install(Forest forest, std::uint64_t at) {
    if (forest.ranks() != ranks_) {
        throw std::invalid_argument("the new plan is for " + std::to_string(forest.ranks()) +
                                    " ranks, this engine has " + std::to_string(ranks_));
    }
    auto plan = std::make_shared<Plan>(std::move(forest), rank_, static_cast<int>(workers_.size()),
                                       options_.chunk_bytes);
    const int near_bytes =
        near_send_buffer_bytes(plan->places(), static_cast<int>(workers_.size()));
    const std::lock_guard<std::mutex> lock(mutex_);
    check_ahead_locked(at);
    plans_[at] = std::move(plan);
    // A little early: what is under way until then only has other room.
    bound_near_locked(near_bytes);
}

void Engine::weigh_workers(WorkerWeights weights, std::uint64_t at) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_ahead_locked(at);
    check_weights(weights, static_cast<int>(workers_.size()));
    weights_[at] = std::move(weights);
}

void Engine::check_ahead_locked(std::uint64_t collective) const {
    check_locked();
    if (collective < posted_) {
        throw std::invalid_argument("collective " + std::to_string(collective) +
                                    " has begun; the next is " + std::to_string(posted_));
    }
}

std::uint64_t Engine::posted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return posted_;
}

Pending Engine::pending() {
    const std::lock_guard<std::mutex> lock(mutex_);
    forget_finished_locked();
    const std::uint16_t latest =
        posted_ > 0 ? signatures_[(posted_ - 1) % signatures_.size()] : std::uint16_t{0};
    Pending pending{posted_, latest, {}, {}, {}};
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        for (const auto& message : unfinished_messages_) {
            pending.awaited.push_back(message->peer());
        }
    }
    if (!unfinished_.empty()) {
        pending.oldest = unfinished_.front()->number;
        pending.oldest_posted_at = unfinished_.front()->posted_at;
    }
    return pending;
}

void Engine::forget_finished_locked() {
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        const auto is_over = [this](const auto& message) {
            if (message->status() == Collective::Status::kPending) return false;
            if (message->is_received && !message->is_eager()) inbox_.forget(*message);
            return true;
        };
        unfinished_messages_.erase(
            std::remove_if(unfinished_messages_.begin(), unfinished_messages_.end(), is_over),
            unfinished_messages_.end());
    }
    while (!unfinished_.empty() && unfinished_.front()->status() != Collective::Status::kPending) {
        unfinished_.pop_front();
    }
}

std::optional<std::uint16_t> Engine::signature(std::uint64_t collective) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (collective >= posted_ || posted_ - collective > signatures_.size()) return std::nullopt;
    return signatures_[collective % signatures_.size()];
}

void Engine::fail(const Report& verdict) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_.emplace(verdict.culprit, verdict.text);
    has_peer_left_ = verdict.cause == Cause::kLeft;
    for (const auto& worker : workers_) worker->halt();
    end_messages();
}

void Engine::drain(double grace_s) {
    // Not by the clock, which goes on while this process is stopped.
    const auto idle_looks = std::chrono::duration<double>(grace_s) / kDrainLook;
    std::uint64_t moved = moved_bytes();
    for (int looks = 0; looks < idle_looks; ++looks) {
        const Pending left = pending();
        if (!left.oldest && left.awaited.empty()) return;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (failure_ || is_closed_) return;
        }
        if (const std::uint64_t bytes = moved_bytes(); bytes != moved) {
            moved = bytes;
            looks = 0;
        }
        std::this_thread::sleep_for(kDrainLook);
    }
}

std::uint64_t Engine::moved_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::uint64_t bytes = 0;
    for (const auto& worker : workers_) {
        for (const auto& connection : worker->connections()) {
            if (connection) bytes += connection->bytes_sent() + connection->bytes_received();
        }
    }
    return bytes;
}

void Engine::close() {
    const std::lock_guard<std::mutex> closing(closing_);
    const Pending left = pending();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_closed_) return;
        is_closed_ = true;
    }
    for (const auto& worker : workers_) worker->stop();
    end_messages();
    supervisor_->leave(left.oldest.value_or(left.posted));
    bool is_needed;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_needed = !failure_ || has_peer_left_;
    }
    if (is_needed) linger();
    decltype(workers_) workers;
    const std::lock_guard<std::mutex> lock(mutex_);
    // They end without the lock: the last of what Python made waits for Python's own, and whoever
    // has that may wait for this one.
    workers.swap(workers_);
}

/// A peer may still be receiving its last chunks: closing a connection with something unread would
/// make the kernel throw away what it has not sent.
void Engine::linger() {
    const auto until = std::chrono::steady_clock::now() + kLinger;
    for (const auto& worker : workers_) {
        for (const auto& connection : worker->connections()) {
            // What was written to shared memory stays there for as long as the peer has it.
            if (!connection || connection->is_lost || connection->is_shared_memory()) continue;
            wait_until_sent(connection->fd(), until);
        }
    }
}

std::vector<WorkerFigures> Engine::worker_figures() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const WorkerWeights& weights = std::prev(weights_.upper_bound(posted_))->second;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<WorkerFigures> all;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
        const Meter& meter = workers_[worker]->meter();
        const double weight =
            weights.empty() ? 1.0 / static_cast<double>(workers_.size()) : weights[worker] / sum;
        all.push_back({meter.busy_us(), meter.bytes(), weight});
    }
    return all;
}

std::vector<ConnectionFigures> Engine::figures() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<ConnectionFigures> all;
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
        for (const auto& connection : workers_[worker]->connections()) {
            if (!connection) continue;
            ConnectionFigures figures{};
            figures.peer = connection->peer;
            figures.worker = static_cast<int>(worker);
            figures.bytes_sent = connection->bytes_sent();
            figures.bytes_received = connection->bytes_received();
            figures.is_shared_memory = connection->is_shared_memory();
            if (!figures.is_shared_memory) set_figures(connection->fd(), figures);
            if (const Tls* const tls = connection->tls()) {
                figures.cipher = tls->cipher();
                figures.is_encrypted_by_kernel = tls->is_in_kernel();
            }
            all.push_back(figures);
        }
    }
    return all;
}

}  // namespace plink::engine
