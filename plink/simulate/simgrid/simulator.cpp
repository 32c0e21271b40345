// One simulation on SimGrid: a network and what is sent over it from standard input, the simulated
// time as JSON on standard output. plink compiles this file where it is first used.
//
// The input is lines of words up to `end`, then arrays of little-endian numbers in the order in
// which the lines name them (`plink/simulate/simgrid/run.py` writes both).
//
// Flows share links evenly: every route has the same latency as far as SimGrid's sharing is
// concerned, and a factor for each pair of hosts makes it what it is.

#include <smpi/smpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <new>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

// SMPI exports it without a declaration; `SMPI_init` takes the options that this one makes known.
extern "C" void smpi_init_options();

// Buffers of simulated ranks hold nothing that matters: the large ones share one place in memory,
// or 512 ranks would need 512 times as much as a real one.
namespace {
constexpr std::size_t kLeastShared = 1 << 18;
char* scratch = nullptr;
std::size_t scratch_size = 0;

bool is_shared(const void* place) { return place >= scratch && place < scratch + scratch_size; }
bool shares(std::size_t size) { return scratch && size >= kLeastShared && size <= scratch_size; }
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) { return shares(size) ? scratch : __libc_malloc(size); }
void free(void* place) {
    if (!is_shared(place)) __libc_free(place);
}
void* realloc(void* place, std::size_t size) {
    return __libc_realloc(is_shared(place) ? nullptr : place, size);
}
}

// What SimGrid itself keeps is not shared.
void* operator new(std::size_t size) {
    void* place = __libc_malloc(size ? size : 1);
    if (!place) throw std::bad_alloc();
    return place;
}
void* operator new[](std::size_t size) {
    void* place = malloc(size ? size : 1);
    if (!place) throw std::bad_alloc();
    return place;
}
void operator delete(void* place) noexcept { __libc_free(place); }
void operator delete(void* place, std::size_t) noexcept { __libc_free(place); }
void operator delete[](void* place) noexcept { free(place); }
void operator delete[](void* place, std::size_t) noexcept { free(place); }

namespace {

constexpr double kUnlimited = 1e16;

template <typename Number>
std::vector<Number> numbers(std::size_t count) {
    std::vector<Number> found(count);
    std::cin.read(reinterpret_cast<char*>(found.data()), count * sizeof(Number));
    if (!std::cin) throw std::runtime_error("the input ends early");
    return found;
}

std::vector<unsigned> words(std::istringstream& line, std::size_t count) {
    std::vector<unsigned> found(count);
    for (auto& number : found) line >> number;
    return found;
}

struct Request {
    std::string shape;
    std::vector<unsigned> sizes;
    double link_rate = 0.0, link_latency = 0.0;
    std::size_t hosts = 0, zones = 0;
    bool has_matrix = false;
    std::string job, collective, algorithm;
    std::size_t size_bytes = 0, eager_bytes = 0, ranks = 0, operations = 0, edges = 0, lanes = 0;
};

Request read_request() {
    Request found;
    std::string text;
    while (std::getline(std::cin, text) && text != "end") {
        std::istringstream line(text);
        std::string key;
        line >> key;
        if (key == "zones") {
            found.shape = key;
            line >> found.hosts >> found.zones >> found.has_matrix;
        } else if (key == "fat-tree") {
            std::size_t levels = 0;
            found.shape = key;
            line >> found.hosts >> found.link_rate >> found.link_latency >> levels;
            found.sizes = words(line, 3 * levels);
        } else if (key == "dragonfly") {
            found.shape = key;
            line >> found.hosts >> found.link_rate >> found.link_latency;
            found.sizes = words(line, 7);
        } else if (key == "schedule") {
            found.job = key;
            line >> found.operations >> found.edges >> found.lanes;
        } else if (key == "smpi") {
            found.job = key;
            line >> found.collective >> found.algorithm >> found.size_bytes >> found.eager_bytes >>
                found.ranks;
        } else {
            throw std::runtime_error("unknown line: " + text);
        }
    }
    return found;
}

// ---- The network ----

sg::Link* make_link(sg::NetZone* zone, const std::string& name, double rate, double latency) {
    const bool is_limited = rate < kUnlimited;
    auto* link = zone->create_link(name, is_limited ? rate : kUnlimited);
    if (!is_limited) link->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE);
    return link->set_latency(latency)->seal();
}

// How long before it begins a message could have left: so much of its latency has passed.
double head_start = 0.0;

using Latency =
    std::function<double(const sg::Host*, const sg::Host*, const std::vector<sg::Link*>&)>;

struct Network {
    std::vector<sg::Host*> hosts;
    sg::NetZone* root = nullptr;
    Latency latency;
};

std::size_t place_of(const sg::Host* host) { return std::stoul(host->get_name().substr(1)); }

// Zones in zones, each a star with a link up and one down. A zone has either hosts or zones.
Network make_zones(const Request& request) {
    const auto parent = numbers<std::int32_t>(request.zones);
    const auto up = numbers<double>(request.zones), down = numbers<double>(request.zones);
    const auto zone_latency = numbers<double>(request.zones);
    const auto zone_of = numbers<std::int32_t>(request.hosts);
    const auto send = numbers<double>(request.hosts), receive = numbers<double>(request.hosts);
    const auto host_latency = numbers<double>(request.hosts);
    auto matrix = std::make_shared<std::vector<float>>();
    if (request.has_matrix) *matrix = numbers<float>(request.hosts * request.hosts);

    Network found;
    std::vector<sg::NetZone*> zones(request.zones);
    std::vector<simgrid::kernel::routing::NetPoint*> gates(request.zones);
    for (std::size_t zone = 0; zone < request.zones; ++zone) {
        zones[zone] = sg::create_star_zone("z" + std::to_string(zone));
        if (parent[zone] >= 0) zones[zone]->set_parent(zones[parent[zone]]);
        const bool has_zones = std::count(parent.begin(), parent.end(), static_cast<int>(zone)) > 0;
        const auto name = std::to_string(zone);
        if (!has_zones) {
            gates[zone] = zones[zone]->create_router("g" + name);
        } else if (zone) {
            // SimGrid finds no way from zones in a zone to what stands beside them, but to other
            // zones.
            auto* own = sg::create_star_zone("o" + name)->set_parent(zones[zone]);
            gates[zone] = own->create_router("g" + name);
            auto* point = own->get_netpoint();
            zones[zone]->add_route(point, nullptr, gates[zone], nullptr, {}, false);
            zones[zone]->add_route(nullptr, point, nullptr, gates[zone], {}, false);
            own->seal();
        }
    }
    for (std::size_t host = 0; host < request.hosts; ++host) {
        auto* zone = zones[zone_of[host]];
        const auto name = std::to_string(host);
        auto* made = zone->create_host("h" + name, 1e9);
        auto* out = make_link(zone, "s" + name, send[host], 1.0);
        auto* in = make_link(zone, "r" + name, receive[host], 0.0);
        zone->add_route(made->get_netpoint(), nullptr, nullptr, nullptr, {sg::LinkInRoute(out)},
                        false);
        zone->add_route(nullptr, made->get_netpoint(), nullptr, nullptr, {sg::LinkInRoute(in)},
                        false);
        found.hosts.push_back(made);
    }
    for (std::size_t zone = request.zones; zone-- > 1;) {
        auto* above = zones[parent[zone]];
        const auto name = std::to_string(zone);
        auto* out = make_link(above, "u" + name, up[zone], 0.0);
        auto* in = make_link(above, "d" + name, down[zone], 0.0);
        auto* point = zones[zone]->get_netpoint();
        above->add_route(point, nullptr, gates[zone], nullptr, {sg::LinkInRoute(out)}, false);
        above->add_route(nullptr, point, nullptr, gates[zone], {sg::LinkInRoute(in)}, false);
        zones[zone]->seal();
    }
    zones[0]->seal();
    found.root = zones[0];
    const auto hosts = request.hosts;
    found.latency = [=](const sg::Host* from, const sg::Host* to, const std::vector<sg::Link*>&) {
        const auto source = place_of(from), target = place_of(to);
        if (!matrix->empty()) return static_cast<double>((*matrix)[source * hosts + target]);
        double sum = host_latency[source] + host_latency[target];
        std::int32_t left = zone_of[source], right = zone_of[target];
        // Zones stand after those around them.
        while (left != right) {
            auto& lower = left > right ? left : right;
            sum += zone_latency[lower];
            lower = parent[lower];
        }
        return sum;
    };
    return found;
}

// Trees and dragonflies as SimGrid has them: every hop takes as long.
Network make_regular(const Request& request) {
    Network found;
    auto hosts = std::make_shared<std::vector<sg::Host*>>();
    auto set_host = [hosts](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
        auto* host = zone->create_host("h" + std::to_string(hosts->size()), 1e9);
        hosts->push_back(host);
        return std::make_pair(host->get_netpoint(),
                              static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
    };
    const auto& sizes = request.sizes;
    const sg::ClusterCallbacks callbacks(set_host);
    const auto both = sg::Link::SharingPolicy::SPLITDUPLEX;
    if (request.shape == "fat-tree") {
        const auto levels = sizes.size() / 3;
        const auto part = [&](std::size_t at) {
            return std::vector<unsigned>(sizes.begin() + at * levels,
                                         sizes.begin() + (at + 1) * levels);
        };
        const sg::FatTreeParams tree(levels, part(0), part(1), part(2));
        found.root =
            sg::create_fatTree_zone("tree", nullptr, tree, callbacks, request.link_rate, 0.0, both);
    } else {
        const sg::DragonflyParams fly({sizes[0], sizes[1]}, {sizes[2], sizes[3]},
                                      {sizes[4], sizes[5]}, sizes[6]);
        found.root =
            sg::create_dragonfly_zone("fly", nullptr, fly, callbacks, request.link_rate, 0.0, both);
    }
    found.root->seal();
    found.hosts = *hosts;
    for (auto* link : sg::Engine::get_instance()->get_all_links()) link->set_latency(0.0);
    // A route begins and ends with a host's own link: together they are the latency that sharing
    // sees.
    for (std::size_t host = 0; host < found.hosts.size(); ++host) {
        std::vector<sg::Link*> links;
        double latency = 0.0;
        found.hosts[host]->route_to(found.hosts[(host + 1) % found.hosts.size()], links, &latency);
        links.front()->set_latency(0.5);
        links.back()->set_latency(0.5);
    }
    const double hop = request.link_latency;
    found.latency = [hop](const sg::Host*, const sg::Host*, const std::vector<sg::Link*>& links) {
        return hop * links.size();
    };
    return found;
}

Network make_network(const Request& request) {
    auto found = request.shape == "zones" ? make_zones(request) : make_regular(request);
    if (found.hosts.size() != request.hosts) throw std::runtime_error("another number of hosts");
    const auto latency = found.latency;
    found.root->get_network_model()->set_lat_factor_cb(
        [latency](double, const sg::Host* from, const sg::Host* to,
                  const std::vector<sg::Link*>& links, const std::unordered_set<sg::NetZone*>&) {
            return from == to ? 1.0 : std::max(0.0, latency(from, to, links) - head_start);
        });
    return found;
}

// ---- A schedule: operations that wait for others ----

// A message where two hosts differ, else something that takes a time.
class Schedule {
  public:
    Schedule(const Request& request, const Network& network)
        : hosts_(network.hosts),
          from_(numbers<std::int32_t>(request.operations)),
          to_(numbers<std::int32_t>(request.operations)),
          amount_(numbers<double>(request.operations)),
          lane_(numbers<std::int32_t>(request.operations)),
          starts_(numbers<std::int64_t>(request.operations + 1)),
          successors_(numbers<std::int32_t>(request.edges)),
          waits_for_(request.operations, 0),
          under_way_(request.operations),
          waiting_(request.lanes),
          left_(request.operations) {
        for (const auto next : successors_) ++waits_for_[next];
    }

    double run(sg::Engine& engine) {
        // Called by SimGrid's kernel, where nothing blocks: what follows starts at once.
        sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
            const auto number = reinterpret_cast<std::intptr_t>(activity.get_data<void>());
            if (number) end(static_cast<std::int32_t>(number - 1));
        });
        auto done = sg::Semaphore::create(0);
        done_ = done.get();
        sg::Actor::create("clerk", hosts_[0], [this, done] {
            simgrid::kernel::actor::simcall_answered([this] {
                for (std::size_t one = 0; one < waits_for_.size(); ++one)
                    if (!waits_for_[one]) ready_.push_back(static_cast<std::int32_t>(one));
                begin_ready();
            });
            if (left_) done->acquire();
        });
        engine.run();
        if (left_) throw std::runtime_error("operations wait for each other");
        return sg::Engine::get_clock();
    }

  private:
    struct Waiting {
        std::int32_t operation;
        double ready_s;
    };

    // In the sequence in which they became ready, which is that of a connection's messages.
    void begin_ready() {
        for (std::size_t at = 0; at < ready_.size(); ++at) {
            const auto one = ready_[at];
            if (from_[one] != to_[one]) {
                if (lane_[one] >= 0) {
                    auto& queue = waiting_[lane_[one]];
                    queue.push_back({one, sg::Engine::get_clock()});
                    if (queue.size() > 1) continue;
                }
                send(one);
            } else if (amount_[one] > 0.0) {
                simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + amount_[one],
                                                   [this, one] { end(one); });
            } else {
                finish(one);
            }
        }
        ready_.clear();
    }

    void send(std::int32_t one) {
        auto comm = sg::Comm::sendto_init(hosts_[from_[one]], hosts_[to_[one]]);
        comm->set_payload_size(static_cast<std::uint64_t>(std::max(amount_[one], 1.0)));
        comm->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(one) + 1));
        under_way_[one] = comm;
        comm->start();
    }

    void end(std::int32_t one) {
        ended_.clear();
        if (under_way_[one]) {
            ended_.push_back(std::move(under_way_[one]));
            if (lane_[one] >= 0) {
                auto& queue = waiting_[lane_[one]];
                queue.pop_front();
                if (!queue.empty()) {
                    // What comes right behind it was on its way meanwhile.
                    head_start = sg::Engine::get_clock() - queue.front().ready_s;
                    send(queue.front().operation);
                    head_start = 0.0;
                }
            }
        }
        finish(one);
        begin_ready();
    }

    void finish(std::int32_t one) {
        for (auto at = starts_[one]; at < starts_[one + 1]; ++at)
            if (!--waits_for_[successors_[at]]) ready_.push_back(successors_[at]);
        if (!--left_) done_->release();
    }

    const std::vector<sg::Host*>& hosts_;
    std::vector<std::int32_t> from_, to_;
    std::vector<double> amount_;
    std::vector<std::int32_t> lane_;
    std::vector<std::int64_t> starts_;
    std::vector<std::int32_t> successors_, waits_for_, ready_;
    std::vector<sg::CommPtr> under_way_, ended_;
    // By lane: what is under way, and what follows it.
    std::vector<std::deque<Waiting>> waiting_;
    std::size_t left_;
    sg::Semaphore* done_ = nullptr;
};

// ---- A collective of SMPI ----

void add_nothing(void*, void*, int*, MPI_Datatype*) {}

void call(const std::string& collective, std::size_t size_bytes, int ranks) {
    static MPI_Op op = MPI_OP_NULL;
    if (op == MPI_OP_NULL) MPI_Op_create(add_nothing, 1, &op);
    const int whole = static_cast<int>(size_bytes / 4), part = whole / ranks;
    const auto world = MPI_COMM_WORLD;
    if (collective == "all-reduce") {
        MPI_Allreduce(scratch, scratch, whole, MPI_FLOAT, op, world);
    } else if (collective == "all-gather") {
        MPI_Allgather(scratch, part, MPI_FLOAT, scratch, part, MPI_FLOAT, world);
    } else if (collective == "all-to-all") {
        MPI_Alltoall(scratch, part, MPI_FLOAT, scratch, part, MPI_FLOAT, world);
    } else if (collective == "broadcast") {
        MPI_Bcast(scratch, whole, MPI_FLOAT, 0, world);
    } else if (collective == "reduce") {
        MPI_Reduce(scratch, scratch, whole, MPI_FLOAT, op, 0, world);
    } else if (collective == "reduce-scatter") {
        std::vector<int> parts(ranks, part);
        MPI_Reduce_scatter(scratch, scratch, parts.data(), MPI_FLOAT, op, world);
    } else {
        throw std::runtime_error("no such collective: " + collective);
    }
}

std::string option_of(const std::string& collective) {
    std::string found;
    for (const char letter : collective)
        if (letter != '-') found += letter;
    if (found == "broadcast") return "smpi/bcast";
    if (found == "reducescatter") return "smpi/reduce_scatter";
    return "smpi/" + found;
}

double run_smpi(const Request& request, const Network& network, sg::Engine& engine) {
    const auto host_of = numbers<std::int32_t>(request.ranks);
    const auto ranks = static_cast<int>(request.ranks);
    SMPI_app_instance_register("job", nullptr, ranks);
    smpi_init_options();
    const auto eager = std::to_string(request.eager_bytes);
    engine.set_config(option_of(request.collective) + ":" + request.algorithm);
    engine.set_config("smpi/simulate-computation:no");
    // Smaller messages leave before they are asked for; others wait for their receiver.
    engine.set_config("smpi/async-small-thresh:" + eager);
    engine.set_config("smpi/send-is-detached-thresh:" + eager);
    SMPI_init();
    const auto size = request.size_bytes;
    double begin = 0.0, end = 0.0;
    for (int rank = 0; rank < ranks; ++rank) {
        auto actor = sg::Actor::init("r" + std::to_string(rank), network.hosts[host_of[rank]]);
        actor->set_property("instance_id", "job");
        actor->set_property("rank", std::to_string(rank));
        actor->start([&request, &begin, &end, rank, ranks, size] {
            MPI_Init(nullptr, nullptr);
            // A real one first: selectors learn from it who shares a host, which takes real data.
            float one = 1.0F, sum = 0.0F;
            MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (sum != static_cast<float>(ranks)) throw std::runtime_error("SMPI adds up wrongly");
            // From here on data is not copied.
            smpi_replay_init("job", rank, 0);
            if (!scratch) {
                scratch_size = std::max<std::size_t>(2 * size, 1 << 20);
                scratch = static_cast<char*>(std::calloc(scratch_size, 1));
            }
            MPI_Barrier(MPI_COMM_WORLD);
            begin = std::max(begin, sg::Engine::get_clock());
            call(request.collective, size, ranks);
            end = std::max(end, sg::Engine::get_clock());
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Finalize();
        });
    }
    engine.run();
    return end - begin;
}

int run(int argc, char** argv) {
    const auto request = read_request();
    std::vector<std::string> options = {
        "simulator",
        "--log=root.thres:error",
        "--cfg=network/model:CM02",
        // No window of TCP, no shares by distance, no answers on the way back.
        "--cfg=network/TCP-gamma:0",
        "--cfg=network/weight-S:0",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/loopback-bw:1e16",
        "--cfg=network/loopback-lat:0",
        "--cfg=contexts/stack-size:256",
        "--cfg=network/optim:Full",
    };
    options.insert(options.end(), argv + 1, argv + argc);
    std::vector<char*> words;
    for (auto& option : options) words.push_back(option.data());
    words.push_back(nullptr);
    int count = static_cast<int>(options.size());
    sg::Engine engine(&count, words.data());
    auto network = make_network(request);
    std::unique_ptr<Schedule> schedule;
    if (request.job == "schedule") schedule = std::make_unique<Schedule>(request, network);
    const auto start = std::chrono::steady_clock::now();
    const double time_s = schedule ? schedule->run(engine) : run_smpi(request, network, engine);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("{\"time_s\": %.12g, \"seconds\": %.3f}\n", time_s, took.count());
    std::fflush(stdout);
    // What SimGrid would take down one by one goes with the process.
    std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
