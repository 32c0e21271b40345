// The hub's native part at work, for the sanitizers: loops, lanes and clients over real sockets;
// workers that come back, are dropped and join; servers of racks; copies; hostile frames, and
// those of a fuzzer in the folder that is named. Ends with 1 where a result is wrong.

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client.hpp"
#include "loop.hpp"

namespace hub = plink::hub;
using plink::transport::Descriptor;
using plink::transport::Stream;

namespace {

constexpr std::uint32_t kChunks = 40;
constexpr std::uint32_t kItems = 1000;
constexpr std::uint32_t kLanes = 3;

void require(bool is_so, const char* what) {
    if (is_so) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

struct Service {
    explicit Service(hub::LaneOptions options) : tenant(options.tenant) {
        for (int i = 0; i < 2; ++i) loops.push_back(std::make_unique<hub::Loop>(events, -1));
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            std::vector<hub::ChunkPlace> places;
            for (std::uint32_t id = lane; id < kChunks; id += kLanes)
                places.push_back({id, kItems, 0});
            options.lane = lane;
            loop_of(lane).open(options, places, 1.0);
        }
    }
    hub::Loop& loop_of(std::uint32_t lane) { return *loops[lane % loops.size()]; }

    std::vector<hub::Dialled> dial(std::uint32_t worker, std::uint16_t incarnation) {
        std::vector<hub::Dialled> dialled;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            int ends[2];
            require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "a socket");
            loop_of(lane).adopt(tenant, lane, worker, incarnation, Stream(Descriptor(ends[0])));
            dialled.push_back({Stream(Descriptor(ends[1])), "server", incarnation});
        }
        return dialled;
    }

    std::shared_ptr<hub::Events> events = std::make_shared<hub::Events>();
    std::uint32_t tenant;
    std::vector<std::unique_ptr<hub::Loop>> loops;
};

std::vector<hub::ClientChunk> chunks() {
    std::vector<hub::ClientChunk> found;
    for (std::uint32_t id = 0; id < kChunks; ++id) {
        found.push_back({std::size_t{id} * kItems, kItems, id % kLanes});
    }
    return found;
}

struct Worker {
    Worker(Service& service, std::uint32_t number, bool is_by_step, std::uint32_t iteration = 0,
           bool is_first_rack = true)
        : gradients(std::size_t{kChunks} * kItems, 1.0F),
          values(gradients.size()),
          client(chunks(), gradients.data(), values.data(), hub::Wire::kFloat32, is_by_step,
                 iteration, service.dial(number, 1)) {
        client.initialise(number == 0 && iteration == 0 && is_first_rack);
        wait();
    }
    hub::StepResult wait() {
        const auto result = client.wait(60.0);
        require(result.has_value(), "a wait that ends");
        return *result;
    }
    void step(double lr, bool in_parts) {
        std::vector<std::uint8_t> hypers(hub::kHyperBytes);
        std::memcpy(hypers.data(), &lr, sizeof(lr));
        client.begin(hypers);
        if (in_parts) {
            const std::size_t half = gradients.size() / 2 + 7;
            std::thread other([&] { client.push(half, gradients.size()); });
            client.push(0, half);
            other.join();
        } else {
            client.push(0, gradients.size());
        }
    }
    std::vector<float> gradients;
    std::vector<float> values;
    hub::Client client;
};

void synchronous(bool is_by_step, bool is_in_order) {
    hub::LaneOptions options;
    options.tenant = 1;
    options.workers = 3;
    options.optimizer = hub::Optimizer::kSgd;
    options.is_by_step = is_by_step;
    options.is_in_order = is_in_order;
    Service service(options);
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 3; ++number) {
        threads.emplace_back([&, number] {
            Worker worker(service, number, is_by_step);
            for (int i = 0; i < 30; ++i) {
                worker.step(1.0, i % 2 == 0);
                if (number == 1 && i % 10 == 5) {
                    worker.client.resume(service.dial(number, static_cast<std::uint16_t>(i)));
                }
                worker.wait();
            }
            for (const float value : worker.values) require(value == -30.0F, "a sum");
        });
    }
    service.loop_of(0).copy_at(options.tenant, 20);
    for (std::thread& thread : threads) thread.join();
    require(service.loop_of(0).take_copy(options.tenant, 0).arrays[0][0] == -20.0F, "a copy");
    service.events->take();
}

void shrinking() {
    hub::LaneOptions options;
    options.tenant = 2;
    options.workers = 2;
    options.is_by_step = true;
    Service service(options);
    Worker worker(service, 0, true);
    auto lost = std::make_unique<Worker>(service, 1, true);
    worker.step(1.0, false);
    for (const auto& loop : service.loops) loop->cut(options.tenant, 1);
    for (const auto& loop : service.loops) loop->drop(options.tenant, 1, 1, 1);
    require(worker.wait().workers == 1, "a smaller set");
    for (const auto& loop : service.loops) require(loop->admit(options.tenant, 1, 2), "a joiner");
    lost.reset();
    Worker joiner(service, 1, true, 1);
    worker.step(1.0, false);
    joiner.step(1.0, true);
    require(worker.wait().workers == 2 && joiner.wait().workers == 2, "a larger set");
    require(worker.values == joiner.values && worker.values[5] == -2.0F, "equal values");
}

void alone() {
    hub::LaneOptions options;
    options.tenant = 3;
    options.workers = 3;
    options.mode = hub::Mode::kSsp;
    options.staleness = 2;
    Service service(options);
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 3; ++number) {
        threads.emplace_back([&, number] {
            Worker worker(service, number, false);
            for (int i = 0; i < 20; ++i) {
                worker.step(1.0, false);
                worker.wait();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

/// A connection between two racks' lanes.
void connect_peers(Service& one, Service& other, std::uint32_t lane) {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "a socket");
    one.loop_of(lane).adopt_peer(one.tenant, lane, 1, Stream(Descriptor(ends[0])));
    other.loop_of(lane).adopt_peer(other.tenant, lane, 0, Stream(Descriptor(ends[1])));
}

/// What a service's lanes say that makes it fail.
std::string missed(Service& service) {
    for (int i = 0; i < 6000; ++i) {
        for (const hub::Event& event : service.events->take()) {
            if (event.what == hub::Event::What::kMissed) return event.text;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
}

void racks(bool is_by_step) {
    hub::LaneOptions options;
    options.tenant = 5;
    options.workers = 2;
    options.is_by_step = is_by_step;
    options.racks = 2;
    Service first(options);
    options.rack = 1;
    Service second(options);
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (std::uint32_t number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
            Worker worker(number < 2 ? first : second, number % 2, is_by_step, 0, number < 2);
            for (int i = 0; i < 20; ++i) {
                worker.step(1.0, i % 2 == 0);
                require(worker.wait().workers == 4, "workers of all racks");
            }
            for (const float value : worker.values) require(value == -20.0F, "a sum of racks");
            // From here on the racks disagree, and nothing is stepped. Who has no values yet would
            // not get them any more.
            for (++done; done < 4;) std::this_thread::yield();
            try {
                worker.step(number < 2 ? 1.0 : 0.5, false);
                worker.wait();
                require(false, "racks that disagree");
            } catch (const std::runtime_error&) {
            }
        });
    }
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) connect_peers(first, second, lane);
    for (Service* const service : {&first, &second}) {
        const std::string why = missed(*service);
        require(why.find("lr of group 0 is 1 for worker") != std::string::npos, "what differs");
        for (const auto& loop : service->loops) loop->fail(service->tenant, why);
    }
    for (std::thread& thread : threads) thread.join();
}

void hostile() {
    hub::LaneOptions options;
    options.tenant = 4;
    options.workers = 2;
    Service service(options);
    unsigned state = 1;
    for (int round = 0; round < 300; ++round) {
        int ends[2];
        require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a socket");
        service.loop_of(0).adopt(options.tenant, 0, 1, 1, Stream(Descriptor(ends[0])));
        const Descriptor mine(ends[1]);
        std::vector<std::uint8_t> bytes(64 + round * 20);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>((state = state * 1103515245 + 12345) >> 16);
        if (round % 2 == 0)
            hub::encode({hub::Kind::kPush, hub::kInitial, 1, 0, 0, 4 * kItems}, bytes.data());
        if (round % 3 == 0)
            hub::encode({hub::Kind::kStep, 0, 1, 0, 1, hub::kHyperBytes}, bytes.data());
        ::send(mine.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    Worker worker(service, 0, false);
    service.loop_of(0).fail(options.tenant, "it is over");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const char* folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
}

}  // namespace

int main(int count, char** words) {
    for (const bool is_by_step : {false, true}) {
        for (const bool is_in_order : {false, true}) synchronous(is_by_step, is_in_order);
    }
    shrinking();
    alone();
    for (const bool is_by_step : {false, true}) racks(is_by_step);
    hostile();
    if (count > 1) replay(words[1]);
    std::puts("the hub: as it should be");
    return 0;
}
