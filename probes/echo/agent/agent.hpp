// One host's part in a run: meets its partners one after the other and reports on standard output.
#pragma once

#include <cstdint>
#include <vector>

#include "control.hpp"
#include "packet.hpp"

namespace plink {

class Agent {
  public:
    // Lives until the coordinator says `stop` or falls silent; returns the exit status.
    int run();

  private:
    enum class Meeting { met, silent, gave_up, gone };

    static constexpr size_t kNoPair = SIZE_MAX;

    bool open_socket();
    void meet(size_t position, bool greeted);
    Meeting greet_follower(const Pair& pair);
    Meeting greet_leader(const Pair& pair);
    void probe(const Pair& pair);
    Meeting answer_until(const Pair& pair, Message last);
    void hand_over(const Pair& pair);
    void finish(const Pair& pair);
    void wait_for_grant_or_greeting();
    void report_lost(const Pair& pair, Meeting why) const;

    bool next(int64_t deadline_ns, Packet* packet);
    bool take_packet(Packet* packet);
    bool is_for_current_pair(const Packet& packet) const;
    bool opens_granted_pair(const Packet& packet) const;
    void answer(const Packet& packet);
    void read_control();
    void send(Message message, const Packet& to);
    void send(Message message, const Pair& pair, uint32_t sequence = 0);
    bool leads(const Pair& pair) const { return run_.index < pair.partner; }
    bool is_idle() const { return current_ == kNoPair; }
    bool is_gone(const Pair& pair) const { return run_.peers.find(pair.partner)->gone; }
    int64_t silence_ns() const { return int64_t{run_.silence_ms} * 1000000; }
    size_t position_of(uint32_t round) const;

    Run run_;
    Control control_;
    int socket_ = -1;
    std::vector<bool> done_;    // by position in run_.pairs
    size_t current_ = kNoPair;  // the pair being met, by position
    uint32_t processor_ = 0;    // where granted pairs meet
    int64_t received_ns_ = 0;   // when the last packet arrived
    int64_t control_ns_ = 0;    // when the coordinator was last heard
    std::vector<uint32_t> samples_ns_;
};

}  // namespace plink
