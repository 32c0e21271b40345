// Ranks that agree, in one process, for sanitizers and for many seeds (scripts/check-native):
// random programs whose messages come in any order, and drivers whose letters a thread carries.
// Ends with 0 where all ranks released the same, each request once per iteration.
//   native_programs [seeds] [first seed]

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "native_ranks.hpp"

namespace {

using namespace plink::control;
using namespace plink::control::test;

/// What one rank announces: in each iteration all tensors, in an order of its own.
struct Rank {
    std::unique_ptr<Machine> machine;
    int last = 0;  ///< iterations, before it joins
    int iteration = -1;
    std::vector<RequestRef> left;
    std::size_t awaited = 0;
    bool has_joined = false;
    std::vector<std::string> released;
    std::vector<std::size_t> batches;
    std::vector<std::int64_t> all_joined;
    std::int64_t undone = 0;
    double wakes_s = INFINITY;
    bool is_asleep = false;  ///< it hears nothing until then
};

class Program {
  public:
    explicit Program(unsigned seed) : random_(seed) {
        const int ranks = between(random_, 1, 64);
        tensors_ = between(random_, 1, 12);
        iterations_ = between(random_, 1, 4);
        const std::uint64_t fusion_bytes[] = {1, 64, 1 << 20};
        const std::uint64_t checks[] = {1, 3, 256};
        const std::uint64_t positions[] = {1, 3, static_cast<std::uint64_t>(tensors_), 1 << 20};
        const std::uint64_t caches[] = {1, 3, static_cast<std::uint64_t>(tensors_), 1024};
        const std::uint64_t common_sleep_every = random_() % 4;
        // Ranks that do not await each other sleep for a whole cycle: there is nothing to agree on.
        const bool is_blocking = common_sleep_every != 0 || random_() % 2 == 0;
        const Settings settings{fusion_bytes[random_() % 3],
                                0.001,
                                60.0,
                                {},
                                checks[random_() % 3],
                                positions[random_() % 4],
                                caches[random_() % 4],
                                common_sleep_every,
                                is_blocking};
        for (int tensor = 0; tensor < tensors_; ++tensor) {
            sizes_.push_back(between(random_, 0, 30));
        }
        for (int iteration = 0; iteration < iterations_; ++iteration) {
            if (random_() % 2 == 0) sizes_[random_() % sizes_.size()] = between(random_, 31, 60);
            plan_.emplace_back();
            for (int tensor = 0; tensor < tensors_; ++tensor) {
                plan_.back().push_back(request("t" + std::to_string(tensor), sizes_[tensor]));
            }
        }
        const std::vector<Place> places = random_tree(random_, ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            ranks_.emplace_back();
            ranks_.back().machine = machine_of(seed, places[rank], settings);
            ranks_.back().last =
                random_() % 10 < 3 ? between(random_, 0, iterations_) : iterations_;
        }
    }

    void run() {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) step(rank, {});
        while (!is_over() && (random_() % 2 == 0 ? deliver() || go_on() : go_on() || deliver())) {
        }
        int most = 0;
        for (const Rank& rank : ranks_) most = std::max(most, rank.last);
        for (const Rank& rank : ranks_) {
            CHECK(rank.released == ranks_[0].released);
            CHECK(rank.batches == ranks_[0].batches);
            CHECK(rank.released.size() == static_cast<std::size_t>(most * tensors_));
            CHECK(rank.all_joined.size() == 1 && rank.all_joined == ranks_[0].all_joined);
            CHECK(ranks_[rank.all_joined[0]].last == most);
        }
        // Nothing is announced again before it was released, so one of each belongs to each.
        std::map<std::string, int> times;
        for (const std::string& name : ranks_[0].released) ++times[name];
        for (const auto& [name, count] : times) CHECK(count == most);
    }

    std::uint64_t requests() const { return ranks_[0].released.size() * ranks_.size(); }

  private:
    void step(std::size_t rank, const std::vector<Event>& events) {
        Rank& one = ranks_[rank];
        for (Action& action : one.machine->step(events, now_s_)) {
            if (auto* send = std::get_if<Send>(&action)) {
                links_[{rank, send->rank}].push_back(std::move(send->message));
                busy_.insert({rank, send->rank});
            } else if (const auto* release = std::get_if<Release>(&action)) {
                one.undone += static_cast<std::int64_t>(release->batches.size());
                for (const Batch& batch : release->batches) {
                    one.batches.push_back(batch.requests.size());
                    for (const RequestRef& each : batch.requests)
                        one.released.push_back(each->name);
                }
            } else if (const auto* joined = std::get_if<AllJoined>(&action)) {
                one.all_joined.push_back(joined->last);
            } else if (const auto* sleep = std::get_if<SleepUntil>(&action)) {
                one.wakes_s = sleep->at_s;
                one.is_asleep = !sleep->wakes_on_message;
            } else {
                CHECK(!"nothing is refused, and nobody waits long");
            }
        }
        const auto known = digests_.emplace(one.machine->messages_taken(), one.machine->digest());
        CHECK(known.first->second == one.machine->digest());
    }

    /// Nothing is left to be done, though modes with cycles go on for ever.
    bool is_over() const {
        return std::all_of(ranks_.begin(), ranks_.end(),
                           [](const Rank& rank) { return !rank.all_joined.empty(); });
    }

    bool deliver() {
        if (busy_.empty()) return false;
        const auto link = *std::next(busy_.begin(), random_() % busy_.size());
        if (ranks_[static_cast<std::size_t>(link.second)].is_asleep) return false;
        std::deque<std::string>& queue = links_[link];
        std::vector<Event> events;
        for (int most = between(random_, 1, 4); most > 0 && !queue.empty(); --most) {
            events.push_back(
                Heard{static_cast<std::int64_t>(link.first), std::move(queue.front())});
            queue.pop_front();
        }
        if (queue.empty()) busy_.erase(link);
        step(static_cast<std::size_t>(link.second), events);
        return true;
    }

    /// One rank does something, or where none can the time comes that one waits for.
    bool go_on() {
        const std::size_t first = random_() % ranks_.size();
        for (std::size_t i = 0; i < ranks_.size(); ++i) {
            if (go_on((first + i) % ranks_.size())) return true;
        }
        const auto hears = [this](const auto& link) {
            return !ranks_[static_cast<std::size_t>(link.second)].is_asleep;
        };
        if (std::any_of(busy_.begin(), busy_.end(), hears)) return deliver() || go_on();
        const auto next = std::min_element(
            ranks_.begin(), ranks_.end(),
            [](const Rank& one, const Rank& other) { return one.wakes_s < other.wakes_s; });
        if (next->wakes_s == INFINITY) return false;
        now_s_ = std::max(now_s_, std::exchange(next->wakes_s, INFINITY));
        next->is_asleep = false;
        const auto rank = static_cast<std::size_t>(next - ranks_.begin());
        // As its driver does, with all that has come while it slept.
        std::vector<Event> events = come_for(rank);
        events.emplace_back(Ticked{});
        step(rank, events);
        return true;
    }

    std::vector<Event> come_for(std::size_t rank) {
        std::vector<Event> events;
        for (auto link = busy_.begin(); link != busy_.end();) {
            if (static_cast<std::size_t>(link->second) != rank) {
                ++link;
                continue;
            }
            for (std::string& message : links_[*link])
                events.push_back(Heard{static_cast<std::int64_t>(link->first), std::move(message)});
            links_[*link].clear();
            link = busy_.erase(link);
        }
        return events;
    }

    bool go_on(std::size_t place) {
        Rank& rank = ranks_[place];
        if (rank.undone > 0) {
            const int done = between(random_, 1, static_cast<int>(rank.undone));
            rank.undone -= done;
            step(place, {Done{done}});
            return true;
        }
        if (!rank.left.empty()) {
            const std::size_t count = 1 + random_() % rank.left.size();
            Announced announced{
                {rank.left.end() - static_cast<std::ptrdiff_t>(count), rank.left.end()}};
            rank.left.resize(rank.left.size() - count);
            step(place, {std::move(announced)});
            return true;
        }
        if (rank.released.size() < rank.awaited || rank.has_joined) return false;
        if (++rank.iteration == rank.last) {
            rank.has_joined = true;
            step(place, {Joined{}});
            return true;
        }
        rank.left = plan_[rank.iteration];
        std::shuffle(rank.left.begin(), rank.left.end(), random_);
        rank.awaited += rank.left.size();
        return true;
    }

    Random random_;
    int tensors_;
    int iterations_;
    std::vector<std::int64_t> sizes_;
    std::vector<std::vector<RequestRef>> plan_;
    std::vector<Rank> ranks_;
    std::map<std::pair<std::size_t, std::int64_t>, std::deque<std::string>> links_;
    std::set<std::pair<std::size_t, std::int64_t>> busy_;
    std::map<std::uint64_t, std::uint64_t> digests_;
    double now_s_ = 0.0;
};

}  // namespace

int main(int count, char** arguments) {
    const unsigned seeds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 300;
    const unsigned first = count > 2 ? static_cast<unsigned>(std::atoi(arguments[2])) : 0;
    std::uint64_t requests = 0;
    for (seed_of_now = first; seed_of_now < first + seeds; ++seed_of_now) {
        Program program(seed_of_now);
        program.run();
        requests += program.requests();
    }
    for (unsigned seed = 0; seed < 20; ++seed) drive(seed);
    std::printf("%u programs, %llu requests released by ranks\n", seeds,
                static_cast<unsigned long long>(requests));
    return 0;
}
