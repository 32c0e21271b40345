// What is asked for, and the network that it asks for. Part of one program (`simulator.cpp`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sg = simgrid::s4u;

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
    bool tells_lanes = false;
    std::size_t changes = 0;
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
            line >> found.operations >> found.edges >> found.lanes >> found.tells_lanes >>
                found.changes;
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

}  // namespace
