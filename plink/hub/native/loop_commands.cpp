#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "loop.hpp"

namespace plink::hub {

TenantTurn& Loop::turn_of(std::uint32_t tenant) {
    const auto found = tenants_.find(tenant);
    if (found == tenants_.end()) throw std::runtime_error("there is no such service here");
    return *found->second;
}

LaneCalls Loop::calls_of(const LaneOptions& options) {
    const std::uint32_t tenant = options.tenant;
    const std::uint32_t lane = options.lane;
    return {[this](Link& link) { attend_later(link); },
            [this, tenant, lane] { events_->add({Event::What::kFilled, tenant, lane, 0, 0, {}}); },
            [this, tenant, lane](std::uint32_t worker, const std::string& why) {
                events_->add({Event::What::kMissed, tenant, lane, worker, 0, why});
            },
            [this, tenant, lane](std::uint32_t iteration) {
                events_->add({Event::What::kCopied, tenant, lane, 0, 0, {}, iteration});
            }};
}

void Loop::open(const LaneOptions& options, std::vector<ChunkPlace> places, double weight) {
    call([&] {
        std::unique_ptr<TenantTurn>& turn = tenants_[options.tenant];
        if (turn == nullptr) turn = std::make_unique<TenantTurn>();
        turn->weight = weight;
        turn->lanes[options.lane] = std::make_unique<Lane>(options, places, calls_of(options));
    });
}

void Loop::adopt(std::uint32_t tenant, std::uint32_t lane, std::uint32_t worker,
                 std::uint16_t incarnation, transport::Stream stream) {
    call([&] {
        TenantTurn& turn = turn_of(tenant);
        Lane& its_lane = *turn.lanes.at(lane);
        if (Link* const old = its_lane.link_of(worker)) lose(*old, Event::What::kLost, "replaced");
        auto link = std::make_unique<Link>(std::move(stream), its_lane, worker, incarnation);
        its_lane.join(watch_link(turn, std::move(link)));
    });
}

void Loop::adopt_peer(std::uint32_t tenant, std::uint32_t lane, std::uint32_t rack,
                      transport::Stream stream) {
    call([&] {
        TenantTurn& turn = turn_of(tenant);
        Lane& its_lane = *turn.lanes.at(lane);
        auto link = std::make_unique<Link>(std::move(stream), its_lane, UINT32_MAX, 0,
                                           static_cast<int>(rack));
        its_lane.join_peer(watch_link(turn, std::move(link)));
    });
}

Link& Loop::watch_link(TenantTurn& turn, std::unique_ptr<Link> link) {
    link->tenant = &turn;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = link.get();
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, link->fd(), &event) != 0) {
        throw std::runtime_error("cannot watch a connection: " + transport::text_of(errno));
    }
    turn.links.push_back(std::move(link));
    Link& its = *turn.links.back();
    if (its.is_near() && its.rack < 0) {
        const std::uint32_t lane = its.lane.options().lane;
        ways_in_[lane].enter(its);
        ways_out_[lane].enter(its);
    }
    attend_later(its);
    return its;
}

void Loop::fail(std::uint32_t tenant, const std::string& why) {
    call([&] {
        for (const auto& link : turn_of(tenant).links) {
            link->end(why);
            attend_later(*link);
        }
    });
}

void Loop::retire(std::uint32_t tenant, std::uint32_t worker, const std::string& why) {
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) lane->retire(worker, why);
    });
}

bool Loop::admit(std::uint32_t tenant, std::uint32_t worker, std::uint32_t since) {
    bool is_done = true;
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) {
            is_done = lane->admit(worker, since) && is_done;
        }
    });
    return is_done;
}

void Loop::drop(std::uint32_t tenant, std::uint32_t worker, std::uint32_t since,
                std::uint32_t revision) {
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) {
            lane->drop(worker, since, revision);
        }
    });
}

void Loop::gather(std::uint32_t tenant) {
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) lane->gather();
    });
}

bool Loop::pass_over(std::uint32_t tenant, std::uint32_t iteration) {
    bool has_passed = true;
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) {
            has_passed = lane->pass_over(iteration) && has_passed;
        }
    });
    return has_passed;
}

bool Loop::has_all_of(std::uint32_t tenant, std::uint32_t worker, std::uint32_t iteration) {
    bool has_all = true;
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) {
            has_all = lane->has_all_of(worker, iteration) && has_all;
        }
    });
    return has_all;
}

void Loop::cut(std::uint32_t tenant, std::uint32_t worker) {
    call([&] {
        TenantTurn& turn = turn_of(tenant);
        std::vector<Link*> its;
        for (const auto& link : turn.links) {
            if (link->worker == worker) its.push_back(link.get());
        }
        for (Link* const link : its) {
            link->is_ending = true;
            lose(*link, Event::What::kLost, {});
        }
    });
}

bool Loop::copy_at(std::uint32_t tenant, std::uint32_t iteration) {
    bool is_done = true;
    call([&] {
        for (const auto& [number, lane] : turn_of(tenant).lanes) {
            is_done = lane->copy_at(iteration) && is_done;
        }
    });
    return is_done;
}

bool Loop::copy_now(std::uint32_t tenant, std::uint32_t lane, std::uint32_t iteration,
                    LaneCopy& into) {
    bool is_done = false;
    call([&] { is_done = turn_of(tenant).lanes.at(lane)->copy_now(iteration, into); });
    return is_done;
}

LaneCopy Loop::take_copy(std::uint32_t tenant, std::uint32_t lane) {
    LaneCopy copy;
    call([&] { copy = turn_of(tenant).lanes.at(lane)->take_copy(); });
    return copy;
}

void Loop::load(std::uint32_t tenant, std::uint32_t lane, const LaneCopy& copy) {
    call([&] { turn_of(tenant).lanes.at(lane)->load(copy); });
}

void Loop::close(std::uint32_t tenant) {
    call([&] {
        TenantTurn& turn = turn_of(tenant);
        while (!turn.links.empty()) {
            turn.links.back()->is_ending = true;
            lose(*turn.links.back(), Event::What::kLost, {});
        }
        bury();
        tenants_.erase(tenant);
    });
}

LaneFigures Loop::figures(std::uint32_t tenant, std::uint32_t lane) {
    LaneFigures figures;
    call([&] {
        const TenantTurn& turn = turn_of(tenant);
        figures = turn.lanes.at(lane)->figures();
        for (const auto& link : turn.links) {
            if (link->lane.options().lane == lane) figures.queued_bytes += link->outbox.bytes();
        }
    });
    return figures;
}

std::vector<LinkFigures> Loop::links(std::uint32_t tenant) {
    std::vector<LinkFigures> found;
    call([&] {
        for (const auto& link : turn_of(tenant).links) {
            found.push_back(
                {link->lane.options().lane, link->worker, link->bytes_in(), link->bytes_out()});
        }
    });
    return found;
}

}  // namespace plink::hub
