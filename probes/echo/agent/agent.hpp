// One host's part in a run: meets its partners one after the other and reports on standard output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mailbox.hpp"
#include "scheduling.hpp"

namespace plink {

class Agent {
  public:
    explicit Agent(Transport* transport) : mailbox_(transport) {}

    // Lives until the coordinator says `stop` or falls silent; returns the exit status.
    int run();

  private:
    enum class Meeting { met, silent, gave_up, gone };

    void meet(size_t position);
    Meeting greet(const Pair& pair);
    void probe(const Pair& pair);
    Meeting answer_until(const Pair& pair, Message last, int64_t patience_ns);
    void hand_over(const Pair& pair);
    void finish(const Pair& pair);
    void wait_for_grant();
    void settle();
    void report_rtt(const Pair& pair);
    void report_lost(const Pair& pair, Meeting why);
    void report_over(const Pair& pair, const Times& began);

    const Run& the_run() const { return mailbox_.run(); }
    bool leads(const Pair& pair) const { return the_run().index < pair.partner; }
    bool is_gone(const Pair& pair) const { return the_run().peers.find(pair.partner)->gone; }
    int64_t patience_ns(const Pair& pair) const;
    int64_t silence_ns() const { return int64_t{the_run().silence_ms} * 1000000; }

    Scheduler scheduler_;
    Processors processors_;
    Mailbox mailbox_;
    std::vector<uint32_t> samples_ns_;
    std::string report_;  // what is to be said of the meeting, once it is over
};

}  // namespace plink
