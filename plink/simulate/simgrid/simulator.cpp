// One simulation on SimGrid: a network and what is sent over it from standard input, the simulated
// time as JSON on standard output. plink compiles this file and its headers where it is first used.
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

#include "network.hpp"
#include "schedule.hpp"

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

constexpr std::size_t kManyHosts = 4096;

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
    // Of many hosts few flows change at a time: with events in a heap, not all are looked at. It
    // takes longer where flows share links, and all change.
    const bool is_sparse = request.job == "schedule" && request.hosts > kManyHosts;
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
        is_sparse ? "--cfg=network/optim:Lazy" : "--cfg=network/optim:Full",
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
    std::printf("answer {\"time_s\": %.12g, \"seconds\": %.3f}\n", time_s, took.count());
    if (request.tells_lanes) {
        const auto& busy_s = schedule->busy_s();
        std::fwrite(busy_s.data(), sizeof(double), busy_s.size(), stdout);
    }
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
