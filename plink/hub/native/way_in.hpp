#pragma once

#include <cstdint>
#include <vector>

namespace plink::hub {

class Link;
struct TenantTurn;

/// What near workers send to a port. A service may have as much on its way there as another one of
/// its weight, however many connections it has: a queue in front of the port is shared out by what
/// each has in it. Where that comes out otherwise, windows of those that get more are made smaller,
/// down to half.
class WayIn {
  public:
    void enter(Link& link);
    void leave(Link& link);
    /// Whether links are of more than one service.
    bool is_shared() const { return queues_.size() > 1; }
    /// Whether more than one has sent something lately.
    bool is_contended() const { return is_contended_; }
    /// Looks what has come since it looked last, if that is long enough ago.
    void look(double now_s);

  private:
    struct Queue {
        TenantTurn* tenant;
        std::vector<Link*> links;
        std::uint64_t seen_bytes = 0;
        double come_bytes = 0.0;  ///< lately, over the weight
        double factor = 1.0;      ///< of its windows
        double came_s = 0.0;      ///< last
        bool is_active = false;
    };

    static std::uint64_t come_bytes(const Queue& queue);
    double most_bytes() const;
    void share_out();

    std::vector<Queue> queues_;
    double looked_s_ = 0.0;
    double rate_bytes_s_ = 0.0;  ///< that the port was seen to carry; 0 where it is not known
    bool is_contended_ = false;
};

}  // namespace plink::hub
