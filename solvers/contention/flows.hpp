#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <vector>

namespace plink::contention {

/// Messages of a collective, by rounds, on links (`plink.solvers.contention.flows`).
struct Messages {
    int ranks = 0;
    /// Of each message: its round (ascending), its ends, bytes, how long it takes to begin, and the
    /// message that it waits for (-1 for none).
    std::vector<int> rounds;
    std::vector<int> senders;
    std::vector<int> receivers;
    std::vector<double> sizes_bytes;
    std::vector<double> delays_s;
    std::vector<int> after;
    /// The links that message m crosses are path_links[path_starts[m]] to path_starts[m + 1].
    std::vector<int> path_starts;
    std::vector<int> path_links;
};

/// What links carry in bytes/s, and what each lets pass at once after a pause.
struct FlowLinks {
    std::vector<double> rates;
    std::vector<double> bursts;
    /// What a link with something in its bucket carries.
    double peak_bytes_s = 0.0;
    /// A bucket with less than this share is empty.
    double empty_share = 0.0;
};

/// When each rank has the core that it shares with others: `slice_s` every `cycle_s`, first at
/// `begins_s`, and messages begin whether the receiver is there or not. Without a cycle, always.
struct Turns {
    double cycle_s = 0.0;
    double slice_s = 0.0;
    std::vector<double> begins_s;
};

inline constexpr double kNever = std::numeric_limits<double>::infinity();
/// The same as in `tests/contention/flows_reference.py`.
inline constexpr double kRest = 1e-3;
inline constexpr double kSameS = 1e-9;
inline constexpr double kNear = 1e-9;
inline constexpr double kExcess = 1e-6;

/// Max-min fair rates of the flows that are under way (Bertsekas and Gallager 1992, §6.5.2).
class Sharing {
  public:
    Sharing(const Messages& messages, const FlowLinks& links)
        : messages_(messages),
          links_(links),
          tokens_(links.bursts),
          used_(links.rates.size(), 0.0),
          room_(links.rates.size(), 0.0),
          crossing_(links.rates.size(), 0) {
        for (std::size_t link = 0; link < links.bursts.size(); ++link) {
            if (links.bursts[link] > 0.0) limited_.push_back(static_cast<int>(link));
        }
    }

    void share(const std::vector<int>& active, std::vector<double>& rates) {
        for (const int link : touched_) used_[link] = 0.0;
        touched_.clear();
        rates.assign(active.size(), kNever);
        rising_.clear();
        for (std::size_t flow = 0; flow < active.size(); ++flow) {
            rising_.push_back(static_cast<int>(flow));
            for_path(active[flow], [this](int link) {
                if (crossing_[link]++ == 0) open(link);
            });
        }
        while (!rising_.empty()) raise(active, rates);
        for (const int link : touched_) {
            used_[link] = whole(link) - room_[link];
            crossing_[link] = 0;
        }
    }

    double next_empty_s() const {
        double least_s = kNever;
        for (const int link : limited_) {
            const double excess = used_[link] - links_.rates[link];
            const double empty = links_.empty_share * links_.bursts[link];
            if (excess > kExcess * links_.rates[link] && tokens_[link] > empty) {
                least_s = std::min(least_s, (tokens_[link] - 0.5 * empty) / excess);
            }
        }
        return least_s;
    }

    void drain(double step_s) {
        for (const int link : limited_) {
            const double gained = (links_.rates[link] - used_[link]) * step_s;
            tokens_[link] = std::min(links_.bursts[link], std::max(0.0, tokens_[link] + gained));
        }
    }

  private:
    template <typename Visit>
    void for_path(int message, const Visit& visit) const {
        for (int at = messages_.path_starts[message]; at < messages_.path_starts[message + 1];
             ++at) {
            visit(messages_.path_links[at]);
        }
    }

    double whole(int link) const {
        const bool has_burst = tokens_[link] > links_.empty_share * links_.bursts[link];
        return has_burst ? std::max(links_.rates[link], links_.peak_bytes_s) : links_.rates[link];
    }

    void open(int link) {
        touched_.push_back(link);
        room_[link] = whole(link);
    }

    /// Fills the links that are full first, and fixes the rates of the flows that cross them.
    void raise(const std::vector<int>& active, std::vector<double>& rates) {
        double level = kNever;
        for (const int link : touched_) {
            if (crossing_[link] > 0) level = std::min(level, room_[link] / crossing_[link]);
        }
        const double limit = level * (1.0 + kNear);
        is_full_.assign(links_.rates.size(), false);
        for (const int link : touched_) {
            is_full_[link] = crossing_[link] > 0 && room_[link] <= limit * crossing_[link];
        }
        going_.clear();
        for (const int flow : rising_) {
            bool ends = false;
            for_path(active[flow], [&](int link) { ends |= static_cast<bool>(is_full_[link]); });
            if (!ends) {
                going_.push_back(flow);
                continue;
            }
            rates[flow] = level;
            for_path(active[flow], [&](int link) {
                room_[link] -= level;
                --crossing_[link];
            });
        }
        rising_.swap(going_);
    }

    const Messages& messages_;
    const FlowLinks& links_;
    std::vector<double> tokens_;
    std::vector<double> used_;
    std::vector<double> room_;
    std::vector<int> crossing_;
    std::vector<int> limited_;
    std::vector<int> touched_;
    std::vector<int> rising_;
    std::vector<int> going_;
    std::vector<char> is_full_;
};

/// One run: messages begin when both ranks are there, rounds when messages have ended.
class Run {
  public:
    Run(const Messages& messages, const FlowLinks& links, const Turns& turns,
        double reduction_s_byte)
        : messages_(messages),
          turns_(turns),
          reduction_s_byte_(reduction_s_byte),
          sharing_(messages, links),
          steps_(messages.ranks),
          place_(messages.ranks, -1),
          pending_(messages.ranks, 0),
          step_of_(2 * messages.senders.size(), -1),
          ready_(messages.senders.size(), 0),
          is_done_(messages.senders.size(), false),
          is_begun_(messages.senders.size(), false),
          before_(messages.senders.size(), -1),
          left_(messages.sizes_bytes) {
        std::vector<int> last_round(messages.ranks, -1);
        for (std::size_t number = 0; number < messages.senders.size(); ++number) {
            const int message = static_cast<int>(number);
            if (messages.after[number] >= 0) before_[messages.after[number]] = message;
            for (const int end : {0, 1}) {
                const int rank = end_of(message, end);
                if (last_round[rank] != messages.rounds[number]) {
                    steps_[rank].emplace_back();
                    last_round[rank] = messages.rounds[number];
                }
                steps_[rank].back().push_back(message);
                step_of_[2 * message + end] = static_cast<int>(steps_[rank].size()) - 1;
            }
        }
    }

    double time_s() {
        for (int rank = 0; rank < messages_.ranks; ++rank) {
            if (!steps_[rank].empty()) push(turn_s(rank, 0.0), -1, rank);
        }
        std::vector<double> rates;
        while (!events_.empty() || !active_.empty()) {
            sharing_.share(active_, rates);
            double step_s = std::min(sharing_.next_empty_s(),
                                     events_.empty() ? kNever : when(events_.top()) - now_s_);
            for (std::size_t flow = 0; flow < active_.size(); ++flow) {
                step_s = std::min(step_s, left_[active_[flow]] / rates[flow]);
            }
            pass(std::max(0.0, step_s), rates);
        }
        return now_s_;
    }

  private:
    /// When, in which sequence, the message that begins or -1, the rank that goes on.
    using Event = std::tuple<double, int, int, int>;

    static double when(const Event& event) { return std::get<0>(event); }

    void pass(double step_s, const std::vector<double>& rates) {
        now_s_ += step_s;
        sharing_.drain(step_s);
        std::vector<int> going;
        std::vector<int> ended;
        for (std::size_t flow = 0; flow < active_.size(); ++flow) {
            const int message = active_[flow];
            if (step_s > 0.0) left_[message] -= std::min(left_[message], rates[flow] * step_s);
            const bool is_over =
                left_[message] <= kRest * messages_.sizes_bytes[message] || rates[flow] == kNever;
            (is_over ? ended : going).push_back(message);
        }
        active_.swap(going);
        for (const int message : ended) end(message);
        while (!events_.empty() && when(events_.top()) <= now_s_ + kSameS) {
            const auto [_, number, message, rank] = events_.top();
            events_.pop();
            if (message < 0) {
                go_on(rank);
            } else if (messages_.path_starts[message] < messages_.path_starts[message + 1] &&
                       messages_.sizes_bytes[message] > 0.0) {
                active_.push_back(message);
            } else {
                end(message);
            }
        }
    }

    int end_of(int message, int end) const {
        return end == 0 ? messages_.senders[message] : messages_.receivers[message];
    }

    bool takes_turns() const { return turns_.cycle_s > 0.0; }

    /// When the rank, ready at that time, has its core.
    double turn_s(int rank, double time_s) const {
        if (!takes_turns()) return time_s;
        const double since_s = time_s - turns_.begins_s[rank];
        const double into_s = since_s - turns_.cycle_s * std::floor(since_s / turns_.cycle_s);
        return into_s < turns_.slice_s ? time_s : time_s + turns_.cycle_s - into_s;
    }

    void go_on(int rank) {
        const int place = ++place_[rank];
        if (place >= static_cast<int>(steps_[rank].size())) return;
        pending_[rank] = 0;
        for (const int message : steps_[rank][place]) pending_[rank] += is_done_[message] ? 0 : 1;
        for (const int message : steps_[rank][place]) {
            if (messages_.senders[message] == rank || !takes_turns()) ++ready_[message];
            if (!is_done_[message]) try_to_begin(message);
        }
        if (pending_[rank] == 0) leave(rank, steps_[rank][place].back());
    }

    void try_to_begin(int message) {
        const int first = messages_.after[message];
        const bool is_ready = ready_[message] == (takes_turns() ? 1 : 2) && !is_begun_[message];
        if (is_ready && (first < 0 || is_done_[first])) {
            is_begun_[message] = true;
            const double begin_s = turn_s(messages_.senders[message], now_s_);
            push(begin_s + messages_.delays_s[message], message, -1);
        }
    }

    void end(int message) {
        is_done_[message] = true;
        if (before_[message] >= 0) try_to_begin(before_[message]);
        for (const int end : {0, 1}) {
            const int rank = end_of(message, end);
            if (step_of_[2 * message + end] == place_[rank] && --pending_[rank] == 0) {
                leave(rank, message);
            }
        }
    }

    /// The rank has all of its round, and goes on once it has added the last message.
    void leave(int rank, int message) {
        const double added_s = now_s_ + reduction_s_byte_ * messages_.sizes_bytes[message];
        push(turn_s(rank, added_s), -1, rank);
    }

    void push(double time_s, int message, int rank) {
        events_.emplace(time_s, ++numbers_, message, rank);
    }

    const Messages& messages_;
    const Turns& turns_;
    const double reduction_s_byte_;
    Sharing sharing_;
    std::vector<std::vector<std::vector<int>>> steps_;
    std::vector<int> place_;
    std::vector<int> pending_;
    std::vector<int> step_of_;
    std::vector<int> ready_;
    std::vector<bool> is_done_;
    std::vector<bool> is_begun_;
    std::vector<int> before_;
    std::vector<double> left_;
    std::vector<int> active_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    double now_s_ = 0.0;
    int numbers_ = 0;
};

/// Seconds until all messages have arrived; ranks go on as soon as their own have, in their turn.
inline double flow_time_s(const Messages& messages, const FlowLinks& links, const Turns& turns,
                          double reduction_s_byte) {
    return Run(messages, links, turns, reduction_s_byte).time_s();
}

}  // namespace plink::contention
