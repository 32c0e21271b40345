#pragma once

#include <cstddef>
#include <deque>
#include <vector>

namespace plink::hub {

class Link;
struct TenantTurn;

/// What leaves by a port while several services have near workers there. The kernel would share it
/// out by connections. So it is given little ahead, and who has had the least for its weight sends
/// next (deficit round robin: Shreedhar and Varghese 1995, with start times as Goyal, Vin
/// and Cheng 1996 have them).
class WayOut {
  public:
    void enter(Link& link);
    void leave(Link& link);
    /// Whether links are of more than one service.
    bool is_shared() const { return queues_.size() > 1; }
    bool has_waiting() const;

    /// A link has something to send.
    void wait(Link& link);
    /// Looks how much the kernel has still to send.
    void look();
    /// Whose turn it is; none while the kernel has enough.
    Link* next();
    /// That has sent so much.
    void sent(const Link& link, std::size_t bytes);
    /// Links that wait for nothing any more.
    std::vector<Link*> release();

    /// At most in a turn.
    static constexpr std::size_t kTurnBytes = std::size_t{32} << 10;

  private:
    struct Queue {
        TenantTurn* tenant;
        std::vector<Link*> links;
        std::deque<Link*> waiting;
        double virtual_time = 0.0;
        std::size_t kept_bytes = 0;  ///< that the kernel has not sent yet
    };

    Queue& queue_of(const Link& link);
    bool may_send(const Queue& queue, double most_weight) const;

    std::vector<Queue> queues_;
    double virtual_time_ = 0.0;
    std::size_t kept_bytes_ = 0;
    std::size_t budget_bytes_ = kLeastBudget;
    bool was_full_ = false;

    static constexpr std::size_t kLeastBudget = std::size_t{192} << 10;
    static constexpr std::size_t kMostBudget = std::size_t{8} << 20;
};

}  // namespace plink::hub
