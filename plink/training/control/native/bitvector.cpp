#include "bitvector.hpp"

#include <algorithm>
#include <unordered_set>

#include "fusion.hpp"

namespace plink::control {

namespace {

/// Inverted: what one rank says is heard by all.
std::uint64_t status_of(std::uint64_t said) { return ~said & kStatus; }
std::uint64_t heard_of(std::uint64_t status) { return ~status & kStatus; }

}  // namespace

BitVector::BitVector(Place place, const Settings& settings)
    : Cycles(std::move(place), settings),
      cache_(std::min(settings.cache, settings.most_positions)),
      growth_(settings.most_positions),
      alarms_(settings.stall_warning_s, settings.stall_error_s) {
    rounds_.kinds[kAnd] = {[this](const Values& values) { return intersect(values); }, nullptr,
                           [this](std::string_view data) { take_bits(data); }};
    rounds_.kinds[kOr] = {[this](const Values& values) { return unite(values); }, nullptr,
                          [this](std::string_view data) { erase(data); }};
}

bool BitVector::awaits_by_waking() const {
    return rounds_.kind() == kAnd && !settings_.is_blocking;
}

void BitVector::enqueue(const QueuedRef& queued) {
    Cycles::enqueue(queued);
    unseen_.push_back(queued);
    alarms_.add(queued->request->name, queued->since_s);
}

bool BitVector::forget(const std::string& name) {
    if (queue_.find(name)) alarms_.remove(name);
    return Cycles::forget(name);
}

// Bits.

void BitVector::begin() {
    invalid_ = {};
    const std::vector<QueuedRef> unseen = std::exchange(unseen_, {});
    sort(changes_ != cache_.changes() ? queue_.all() : unseen);
    const bool has_joined = coordination_.joined().contains(place_.rank);
    Bits ready = has_joined ? Bits::below(cache_.size()) : hits_;
    if (coordination_.have_all_joined()) {
        // Nobody else would say for which collectives a rank still waits.
        invalid_ |= hits_;
        ready = {};
    }
    for (const std::string& name : alarms_.due(now_s_)) {
        const QueuedRef queued = queue_.find(name);
        if (const auto position = cache_.position(queued->request)) {
            invalid_.set(*position);
            coordination_.wait(name, now_s_ - queued->since_s);
        }
    }
    std::uint64_t said = invalid_.any() ? kInvalid : 0;
    if (!misses_.empty() || coordination_.has_news(now_s_)) said |= kUncached;
    own_bits_ = (ready -= invalid_).up(kStatusBits);
    own_bits_ |= Bits::of(status_of(said));
    rounds_.enter(kAnd);
}

/// Looks up what is announced: all where positions mean something else now.
void BitVector::sort(const std::vector<QueuedRef>& announced) {
    if (changes_ != cache_.changes()) {
        changes_ = cache_.changes();
        hits_ = {};
        misses_.clear();
    }
    for (const QueuedRef& queued : announced) {
        if (!queue_.holds(queued)) continue;
        if (const auto position = cache_.position(queued->request)) {
            hits_.set(*position);
            continue;
        }
        misses_.push_back(queued);
        for (const std::uint64_t position : cache_.contradicted(queued->request)) {
            invalid_.set(position);
        }
    }
}

std::string BitVector::intersect(const Values& values) {
    const std::size_t count = cache_.size() + kStatusBits;
    Bits bits = own_bits_;
    const auto said = rounds_.parsed(
        values, [count](std::string_view value) { return Bits::parsed(value, count); });
    for (const auto& [child, value] : said) bits &= value;
    // Nobody knows what a rank is ready for that is not heard.
    if (!rounds_.broken.empty()) bits &= Bits::of(status_of(kShutdown));
    return bits.packed();
}

void BitVector::take_bits(std::string_view data) {
    const Bits bits = Bits::parsed(data, cache_.size() + kStatusBits);
    const std::uint64_t heard = heard_of(bits.low() & kStatus);
    // Before anything is erased: then positions mean something else.
    common_.clear();
    for (const std::uint64_t position : bits.down(kStatusBits).positions()) {
        common_.push_back(cache_.at(position));
    }
    if ((heard & kInvalid) != 0) {
        rounds_.enter(kOr);
    } else if (heard != 0 || is_check_due()) {
        ask();
    } else {
        take_common();
    }
}

/// What all are ready for needs no coordinator.
void BitVector::take_common() {
    std::vector<RequestRef> released;
    for (const RequestRef& request : common_) {
        if (const std::string problem = join_problem(*request, coordination_.joined());
            !problem.empty()) {
            refuse(request->name, problem);
        } else {
            released.push_back(request);
        }
    }
    const Batches batches = fused(std::move(released), settings_.fusion_bytes);
    for (const std::vector<RequestRef>& batch : batches) {
        for (const RequestRef& request : batch) cache_.put(request);
    }
    release(batches);
    end();
}

void BitVector::release(const Batches& batches) {
    for (const std::vector<RequestRef>& batch : batches) {
        for (const RequestRef& request : batch) unready(request);
    }
    Cycles::release(batches);
}

void BitVector::refuse(const std::string& name, const std::string& text) {
    if (const QueuedRef queued = queue_.find(name)) unready(queued->request);
    Cycles::refuse(name, text);
}

void BitVector::unready(const RequestRef& request) {
    if (const auto position = cache_.position(request)) hits_.reset(*position);
}

std::string BitVector::unite(const Values& values) {
    const std::size_t count = cache_.size();
    Bits bits = invalid_;
    const auto said = rounds_.parsed(
        values, [count](std::string_view value) { return Bits::parsed(value, count); });
    for (const auto& [child, value] : said) bits |= value;
    return bits.packed();
}

void BitVector::erase(std::string_view data) {
    cache_.erase(Bits::parsed(data, cache_.size()).positions());
    ask();
}

// The coordinator.

void BitVector::ask() {
    if (changes_ != cache_.changes()) {
        // What was announced since this cycle began waits for the next one.
        const std::unordered_set<QueuedRef> late(unseen_.begin(), unseen_.end());
        std::vector<QueuedRef> seen;
        for (const QueuedRef& queued : queue_.all()) {
            if (late.count(queued) == 0) seen.push_back(queued);
        }
        sort(seen);
    }
    for (const QueuedRef& queued : std::exchange(misses_, {})) {
        if (!queue_.holds(queued)) continue;
        queue_.remove(queued->request->name);
        alarms_.remove(queued->request->name);
        coordination_.announce(queued->request, queued->since_s, now_s_);
    }
    for (const RequestRef& request : common_) coordination_.settle(request, now_s_);
    rounds_.enter(kRequests);
}

Member BitVector::member(const RequestRef& request) const {
    const auto position = cache_.position(request);
    return position ? Member{*position, nullptr} : Member{0, request};
}

std::vector<RequestRef> BitVector::named(const std::vector<Member>& members) const {
    std::vector<RequestRef> requests;
    for (const Member& member : members) {
        requests.push_back(member.request ? member.request : cache_.at(member.position));
    }
    return requests;
}

void BitVector::respond(Response& response) {
    std::vector<std::string> news;
    for (const std::vector<Member>& batch : response.said.batches) {
        for (const Member& member : batch) {
            if (member.request) news.push_back(member.request->name);
        }
    }
    response.bound = growth_.bound(cache_.bound, news);
}

/// Fused ones one by one: in the next iteration others may be ready together.
void BitVector::learn(const Batches& batches, const Response& response) {
    cache_.bound = std::max(cache_.bound, response.bound);
    for (const std::vector<RequestRef>& batch : batches) {
        for (const RequestRef& request : batch) {
            const auto evicted = cache_.put(request);
            if (evicted && !place_.parent) growth_.evicted(*evicted, cache_.bound);
        }
    }
}

}  // namespace plink::control
