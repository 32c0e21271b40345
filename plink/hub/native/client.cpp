#include "client.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace plink::hub {

namespace {

constexpr int kEventsAtOnce = 64;

}  // namespace

Client::Client(std::vector<ClientChunk> chunks, float* gradients, float* values, Wire wire,
               bool is_by_step, std::uint32_t iteration, std::vector<Dialled> links)
    : is_by_step_(is_by_step),
      joined_after_(iteration),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      iteration_(iteration) {
    if (!epoll_.is_open()) throw std::runtime_error("no epoll: " + transport::text_of(errno));
    state_.chunks = std::move(chunks);
    state_.gradients = gradients;
    state_.values = values;
    state_.wire = wire;
    state_.has_come.resize(state_.chunks.size());
    state_.squares.resize(state_.chunks.size());
    items_missing_.resize(state_.chunks.size());
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, alarm_.fd(), &event);
    watch_links(std::move(links));
    thread_ = std::thread([this] { run(); });
}

Client::~Client() { close(); }

void Client::watch_links(std::vector<Dialled> links) {
    for (std::size_t i = 0; i < links.size(); ++i) {
        links_.push_back(
            std::make_unique<ClientLink>(std::move(links[i].stream), static_cast<std::uint32_t>(i),
                                         std::move(links[i].server), links[i].incarnation, state_));
    }
    for (std::uint32_t id = 0; id < state_.chunks.size(); ++id) {
        links_.at(state_.chunks[id].link)->chunks.push_back(id);
    }
    partials_wanted_ = 0;
    for (const auto& link : links_) {
        if (link->chunks.empty()) continue;
        ++partials_wanted_;
        epoll_event event{};
        event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
        event.data.ptr = link.get();
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link->fd(), &event) != 0) {
            throw std::runtime_error("cannot watch a connection: " + transport::text_of(errno));
        }
    }
}

void Client::resume(std::vector<Dialled> links) {
    must_stop_ = true;
    alarm_.ring();
    if (thread_.joinable()) thread_.join();
    must_stop_ = false;
    links_.clear();
    watch_links(std::move(links));
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        has_failed_ = is_lost_ = false;
        if (is_pending_ && !posted_) {
            // The server knows which of these it has already, and sends all values anew.
            posted_ = begun_;
            ready_.clear();
            for (std::uint32_t id = 0; id < items_missing_.size(); ++id) {
                if (!begun_.is_pull && items_missing_[id] == 0) ready_.push_back(id);
            }
        }
    }
    alarm_.ring();
    thread_ = std::thread([this] { run(); });
}

void Client::close() {
    must_stop_ = true;
    alarm_.ring();
    if (thread_.joinable()) thread_.join();
    fail("the worker is closed");
    links_.clear();
}

void Client::check() const {
    if (has_failed_) throw std::runtime_error(failure_);
    if (is_pending_) throw std::logic_error("an iteration is under way");
}

void Client::post(Posted posted) {
    result_.reset();
    is_pending_ = true;
    posted_ = std::move(posted);
    alarm_.ring();
}

void Client::initialise(bool is_source) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check();
    post({true, is_source, {}, iteration_});
}

std::uint32_t Client::begin(std::vector<std::uint8_t> hypers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check();
    ready_.clear();
    for (std::size_t i = 0; i < items_missing_.size(); ++i) {
        items_missing_[i] = state_.chunks[i].items;
    }
    ++iteration_;
    post({false, false, std::move(hypers), iteration_});
    return iteration_;
}

void Client::push(std::size_t first, std::size_t end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // By other connections it may go on yet.
    if (has_failed_ && !is_lost_) throw std::runtime_error(failure_);
    if (!is_pending_) throw std::logic_error("no iteration is under way");
    const auto is_before = [](std::size_t at, const ClientChunk& chunk) {
        return at < chunk.offset;
    };
    auto at = std::upper_bound(state_.chunks.begin(), state_.chunks.end(), first, is_before);
    if (at != state_.chunks.begin()) --at;
    const bool was_idle = ready_.empty();
    for (; at != state_.chunks.end() && at->offset < end; ++at) {
        const auto id = static_cast<std::size_t>(at - state_.chunks.begin());
        const std::size_t begins = std::max(first, at->offset);
        const std::size_t ends = std::min(end, at->offset + at->items);
        if (begins >= ends) continue;
        if (ends - begins > items_missing_[id]) throw std::logic_error("pushed twice");
        items_missing_[id] -= static_cast<std::uint32_t>(ends - begins);
        if (items_missing_[id] == 0) ready_.push_back(static_cast<std::uint32_t>(id));
    }
    if (was_idle && !ready_.empty()) alarm_.ring();
}

std::optional<StepResult> Client::wait(double seconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_over = [this] { return result_ || has_failed_; };
    if (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_over)) {
        return std::nullopt;
    }
    if (!result_) throw std::runtime_error(failure_);
    return result_;
}

std::uint32_t Client::last_contribution() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto is_pushed = [](std::uint32_t missing) { return missing == 0; };
    const bool has_all = std::all_of(items_missing_.begin(), items_missing_.end(), is_pushed);
    const std::uint32_t last = has_all ? iteration_ : iteration_ - 1;
    return last == joined_after_ ? 0 : last;
}

std::vector<ClientLinkFigures> Client::figures() const {
    std::vector<ClientLinkFigures> found;
    for (const auto& link : links_) {
        found.push_back({link->number, link->bytes_in(), link->bytes_out()});
    }
    return found;
}

void Client::fail(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_failed_) failure_ = why;
    has_failed_ = true;
    changed_.notify_all();
}

void Client::run() {
    bool may_sleep = true;
    while (!must_stop_) {
        watch(may_sleep ? -1 : 0);
        take_posted();
        move();
        may_sleep = true;
        for (const auto& link : links_) {
            if (has_failed_) break;
            if (link->is_readable || link->can_write()) may_sleep = false;
        }
    }
}

void Client::watch(int milliseconds) {
    epoll_event events[kEventsAtOnce];
    const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, milliseconds);
    for (int i = 0; i < count; ++i) {
        auto* const link = static_cast<ClientLink*>(events[i].data.ptr);
        if (link == nullptr) {
            alarm_.silence();
            continue;
        }
        const std::uint32_t come = events[i].events;
        if (come & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) link->is_readable = true;
        if (come & (EPOLLOUT | EPOLLERR)) link->is_writable = true;
    }
}

void Client::take_posted() {
    std::optional<Posted> posted;
    std::vector<std::uint32_t> ready;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        posted.swap(posted_);
        ready.swap(ready_);
    }
    if (posted) {
        begun_ = *posted;
        begin_posted(*posted);
    }
    for (const std::uint32_t id : ready) links_[state_.chunks[id].link]->send_chunk(id);
}

void Client::begin_posted(const Posted& posted) {
    state_.iteration = posted.iteration;
    std::fill(state_.has_come.begin(), state_.has_come.end(), 0);
    state_.missing = state_.chunks.size();
    state_.partials = 0;
    state_.is_skipped = false;
    is_under_way_ = true;
    total_ = 0.0;
    for (const auto& link : links_) {
        if (link->chunks.empty()) continue;
        link->is_initial = posted.is_pull;
        const Kind kind = posted.is_pull ? Kind::kPull : Kind::kStep;
        link->say({kind, 0, link->incarnation, 0, state_.iteration, 0}, posted.hypers);
        if (!posted.is_source) continue;
        for (const std::uint32_t id : link->chunks) link->send_chunk(id);
    }
}

/// Every connection once: none waits for another.
void Client::move() {
    if (has_failed_) return;
    for (const auto& link : links_) {
        if (link->chunks.empty()) {
            link->is_readable = false;
            continue;
        }
        try {
            // The last words of a server lie behind what it no longer reads.
            if (link->is_readable) link->read();
            if (link->can_write()) link->write();
        } catch (const ServerRefusal& refusal) {
            return fail(refusal.what());
        } catch (const ConnectionLost& lost) {
            is_lost_ = true;
            return fail("server " + link->server + " is lost: " + lost.what());
        } catch (const std::runtime_error& error) {
            return fail("server " + link->server + " is lost: " + error.what());
        }
    }
    if (is_under_way_) settle();
}

void Client::settle() {
    if (is_by_step_ && state_.partials == partials_wanted_) send_total();
    if (state_.missing > 0) return;
    is_under_way_ = false;
    const std::lock_guard<std::mutex> lock(mutex_);
    result_ = StepResult{state_.iteration, total_, state_.is_skipped, state_.workers};
    is_pending_ = false;
    changed_.notify_all();
}

void Client::send_total() {
    // Of another set of workers all squares would come again.
    state_.partials = 0;
    total_ = 0.0;
    for (const double squares : state_.squares) total_ += squares;
    std::vector<std::uint8_t> payload(sizeof(total_));
    std::memcpy(payload.data(), &total_, sizeof(total_));
    for (const auto& link : links_) {
        if (link->chunks.empty()) continue;
        link->say({Kind::kTotal, 0, link->incarnation, state_.revision, state_.iteration, 0},
                  payload);
    }
}

}  // namespace plink::hub
