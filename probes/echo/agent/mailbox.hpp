// Everything that reaches an agent: packets of its peers and words of the coordinator. Whatever
// does not concern the pair that is being met is answered here, on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "control.hpp"
#include "packet.hpp"
#include "transport.hpp"

namespace plink {

class Mailbox {
  public:
    explicit Mailbox(Transport* transport);

    // Opens the UDP port that the run names and reports it; false, with a word on standard error,
    // if it cannot.
    bool open_port();
    // All pairs are known from here on.
    void start();

    // The next packet that concerns the current pair. False at the deadline, and when the
    // coordinator spoke while no pair is being met. Ends the program with the coordinator.
    bool next(int64_t deadline_ns, Packet* packet);
    void send(Message message, const Pair& pair, uint32_t sequence = 0);

    const Run& run() const { return run_; }
    Control& control() { return control_; }
    // When the last packet arrived.
    int64_t received_ns() const { return received_ns_; }

    // The position in run().pairs of the pair of a round, or run().pairs.size().
    size_t position_of(uint32_t round) const;
    bool is_open(size_t position) const { return position < done_.size() && !done_[position]; }
    void set_current(size_t position) { current_ = position; }
    void finish_current();

  private:
    static constexpr size_t kNoPair = SIZE_MAX;

    bool take_packet(Packet* packet);
    bool is_for_current_pair(const Packet& packet) const;
    void answer(const Packet& packet);
    void read_control();
    void watch_for_silence();
    void send(Message message, const Packet& to);
    bool is_idle() const { return current_ == kNoPair; }

    Run run_;
    Control control_;
    Transport& transport_;
    std::vector<bool> done_;    // by position in run_.pairs
    size_t current_ = kNoPair;  // the pair being met, by position
    int64_t received_ns_ = 0;
};

}  // namespace plink
