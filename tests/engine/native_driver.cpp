// Ranks as threads of one process, for sanitizers (scripts/check-native): engines that reduce,
// change plans, fail and close. Ends with 0 where every sum was right and every failure was told.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "engine.hpp"
#include "mesh.hpp"

namespace {

using namespace plink::engine;

constexpr int kRanks = 4;
constexpr int kWorkers = 2;
constexpr double kPatience_s = 60.0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)

std::shared_ptr<Collective> all_reduce(Engine& engine, std::vector<double>& buffer,
                                       int priority = 0) {
    return engine.post({Kind::kAllReduce,
                        DType::kFloat64,
                        Op::kSum,
                        -1,
                        {buffer.size()},
                        {},
                        priority,
                        buffer.data(),
                        buffer.data()});
}

Forest random_forest(unsigned seed) {
    std::mt19937 random(seed);
    const int routes = 1 + static_cast<int>(random() % 4);
    std::vector<double> weights;
    std::vector<std::int32_t> parents[2];
    for (int route = 0; route < routes; ++route) {
        weights.push_back(1.0 + random() % 3);
        const int root = static_cast<int>(random() % kRanks);
        for (auto& of_phase : parents) {
            std::vector<int> placed{root};
            std::vector<std::int32_t> tree(kRanks, -1);
            for (int step = 1; step < kRanks; ++step) {
                const int rank = (root + step) % kRanks;
                tree[rank] = placed[random() % placed.size()];
                placed.push_back(rank);
            }
            of_phase.insert(of_phase.end(), tree.begin(), tree.end());
        }
    }
    return Forest(kRanks, weights, parents[0], parents[1]);
}

Descriptor listener(Endpoint& endpoint) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_storage storage;
    socklen_t size = socket_address({"127.0.0.1", 0}, storage);
    auto* address = reinterpret_cast<sockaddr*>(&storage);
    CHECK(::bind(socket.get(), address, size) == 0);
    CHECK(::listen(socket.get(), 64) == 0);
    CHECK(::getsockname(socket.get(), address, &size) == 0);
    endpoint = {"127.0.0.1", ntohs(reinterpret_cast<sockaddr_in*>(address)->sin_port)};
    return socket;
}

/// Under the name by which ranks of this host look for the one at `endpoint`.
Descriptor local_listener(const Endpoint& endpoint) {
    const std::string name = "plink/" + endpoint.host + "/" + std::to_string(endpoint.port);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    CHECK(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(::listen(socket.get(), 64) == 0);
    return socket;
}

template <typename Action>
void on_all(const Action& action) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back([&, rank] { action(rank); });
    for (std::thread& thread : threads) thread.join();
}

/// The first `memory_ranks` share memory with each other.
std::vector<std::unique_ptr<Engine>> connected(bool in_order, int memory_ranks,
                                               std::size_t chunk_bytes = 2048) {
    std::vector<Listeners> listeners(kRanks);
    std::vector<std::vector<Endpoint>> endpoints(kRanks, std::vector<Endpoint>(1));
    for (int rank = 0; rank < kRanks; ++rank) {
        listeners[rank].tcp.push_back(listener(endpoints[rank][0]));
        if (rank < memory_ranks) listeners[rank].local = local_listener(endpoints[rank][0]);
    }
    std::vector<std::unique_ptr<Engine>> engines(kRanks);
    on_all([&](int rank) {
        Hello hello;
        hello.rank = static_cast<std::uint32_t>(rank);
        hello.ranks = kRanks;
        hello.workers = kWorkers;
        Mesh mesh(hello, std::move(listeners[rank]), endpoints, "", 1);
        while (!mesh.step(100)) {
        }
        engines[rank] = std::make_unique<Engine>(
            rank, kRanks, EngineOptions{chunk_bytes, in_order, 5.0, 50.0, 0, {}, {}, 4},
            random_forest(1), mesh.take(), std::vector<std::string>(kRanks, "127.0.0.1"));
    });
    return engines;
}

void reduce_and_change_plans(bool in_order, int memory_ranks) {
    auto engines = connected(in_order, memory_ranks);
    on_all([&](int rank) {
        std::mt19937 random(7);
        std::vector<std::vector<double>> buffers;
        std::vector<std::shared_ptr<Collective>> works;
        for (unsigned number = 0; number < 40; ++number) {
            if (number % 5 == 0) engines[rank]->install(random_forest(number), number);
            buffers.emplace_back(random() % 5000, rank + 1.0);
        }
        for (auto& buffer : buffers) {
            works.push_back(all_reduce(*engines[rank], buffer, static_cast<int>(works.size() % 3)));
            if (works.size() % 7 == 0) engines[rank]->figures();
        }
        for (const auto& work : works) {
            CHECK(work->wait(kPatience_s) == Collective::Status::kDone);
        }
        for (const auto& buffer : buffers) {
            for (const double value : buffer) CHECK(value == kRanks * (kRanks + 1) / 2);
        }
    });
    on_all([&](int rank) { engines[rank]->close(); });
}

/// Messages of several sizes to the next rank, from the one before and from anybody.
void send_around(Engine& engine, int rank) {
    const int next = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
    std::vector<std::shared_ptr<Collective>> messages;
    std::deque<std::vector<double>> buffers;
    // More eager ones than there is credit for among them.
    for (const std::size_t items : {0, 1, 100'000, 8000, 8000, 8000, 8000, 8000, 100'000, 1}) {
        for (const std::uint32_t tag : {0, 1}) {
            const auto& out = buffers.emplace_back(items, rank + 1.0);
            messages.push_back(engine.send(out.data(), {8 * items, 0}, next, tag));
            auto& in = buffers.emplace_back(items, 0.0);
            messages.push_back(
                engine.receive(in.data(), {8 * items, 0}, tag == 0 ? before : -1, tag));
        }
    }
    for (const auto& message : messages) {
        CHECK(message->wait(kPatience_s) == Collective::Status::kDone);
    }
    for (std::size_t i = 1; i < buffers.size(); i += 2) {
        for (const double value : buffers[i]) CHECK(value == before + 1.0);
    }
}

/// Of every kind, several under way at once, whatever their priorities.
void call_every_kind(bool in_order, int memory_ranks) {
    auto engines = connected(in_order, memory_ranks);
    constexpr std::size_t kItems = 3000;
    on_all([&](int rank) {
        struct Buffers {
            std::vector<double> input = std::vector<double>(kRanks * kItems, 0.0);
            std::vector<double> output = std::vector<double>(kRanks * kItems, 0.0);
        };
        const std::vector<std::size_t> each(kRanks, kItems);
        std::deque<Buffers> buffers;
        std::vector<std::shared_ptr<Collective>> works;
        const auto post = [&](Kind kind, int root, std::vector<std::size_t> counts,
                              std::vector<std::size_t> receive_counts) {
            Buffers& own = buffers.emplace_back();
            std::fill(own.input.begin(), own.input.end(), rank + 1.0);
            const bool is_in_place = kind == Kind::kBroadcast || kind == Kind::kReduce;
            works.push_back(engines[rank]->post(
                {kind, DType::kFloat64, Op::kSum, root, std::move(counts),
                 std::move(receive_counts), static_cast<int>(works.size() % 4), own.input.data(),
                 is_in_place ? own.input.data() : own.output.data()}));
        };
        for (int root = 0; root < kRanks; ++root) {
            post(Kind::kReduceScatter, -1, each, {});
            post(Kind::kAllGather, -1, each, {});
            post(Kind::kBroadcast, root, {kRanks * kItems}, {});
            post(Kind::kReduce, root, {kRanks * kItems}, {});
            post(Kind::kAllToAll, -1, each, each);
        }
        for (const auto& work : works) {
            CHECK(work->wait(kPatience_s) == Collective::Status::kDone);
        }
        send_around(*engines[rank], rank);
        constexpr double kSum = kRanks * (kRanks + 1) / 2;
        for (int root = 0; root < kRanks; ++root) {
            const auto first = buffers.begin() + 5 * root;
            CHECK(first->output[kItems - 1] == kSum);
            CHECK((first + 2)->input.back() == root + 1.0);
            CHECK((first + 3)->input.back() == (rank == root ? kSum : rank + 1.0));
            for (int from = 0; from < kRanks; ++from) {
                CHECK((first + 1)->output[from * kItems + 7] == from + 1.0);
                CHECK((first + 4)->output[from * kItems + 7] == from + 1.0);
            }
        }
    });
    on_all([&](int rank) { engines[rank]->close(); });
}

/// Small ones, which whoever waits for them carries on: at once, late, impatiently, two at a time,
/// and with a second thread that waits too.
void wait_for_small_ones(int memory_ranks) {
    auto engines = connected(false, memory_ranks, 0);
    on_all([&](int rank) {
        Engine& engine = *engines[rank];
        std::mt19937 random(rank);
        for (unsigned number = 0; number < 300; ++number) {
            const std::size_t items = 1 + number * 97 % 8000;
            std::vector<double> one(items, rank + 1.0), other(items, rank + 1.0);
            const auto first = all_reduce(engine, one);
            const auto second = number % 3 == 0 ? all_reduce(engine, other) : first;
            if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
            if (random() % 8 == 0) first->wait(1e-5);
            std::thread waiting;
            if (random() % 8 == 0) waiting = std::thread([&] { second->wait(kPatience_s); });
            CHECK(second->wait(kPatience_s) == Collective::Status::kDone);
            CHECK(first->wait(kPatience_s) == Collective::Status::kDone);
            if (waiting.joinable()) waiting.join();
            CHECK(one.back() == kRanks * (kRanks + 1) / 2);
            CHECK(second == first || other.front() == kRanks * (kRanks + 1) / 2);
        }
    });
    on_all([&](int rank) { engines[rank]->close(); });
}

/// Rank 1 closes with small collectives under way.
void leave_small_ones(int memory_ranks) {
    auto engines = connected(false, memory_ranks, 0);
    on_all([&](int rank) {
        std::vector<double> buffer(100, 1.0);
        bool has_failed = rank == 1;
        try {
            for (int number = 0; number < (rank == 1 ? 7 : 20); ++number) {
                const auto work = all_reduce(*engines[rank], buffer);
                if (work->wait(kPatience_s) == Collective::Status::kFailed) has_failed = true;
            }
        } catch (const EngineFailed& failed) {
            CHECK(failed.rank == 1);
            has_failed = true;
        }
        CHECK(has_failed);
        engines[rank]->close();
    });
}

/// Rank 1 closes with collectives under way; all others must hear of it.
void leave_in_the_middle(int memory_ranks) {
    auto engines = connected(false, memory_ranks);
    on_all([&](int rank) {
        std::vector<double> buffer(50'000, 1.0);
        std::vector<std::vector<double>> buffers(6, buffer);
        std::vector<std::shared_ptr<Collective>> works;
        try {
            for (auto& one : buffers) {
                works.push_back(all_reduce(*engines[rank], one));
                if (rank == 1 && works.size() == 3) break;
            }
        } catch (const EngineFailed&) {
        }
        if (rank == 1) engines[rank]->close();
        bool has_failed = rank == 1;
        for (const auto& work : works) {
            const auto status = work->wait(kPatience_s);
            CHECK(status != Collective::Status::kPending);
            if (status == Collective::Status::kFailed) has_failed = true;
        }
        CHECK(has_failed || works.size() < buffers.size());
        if (rank != 1) {
            try {
                engines[rank]->check();
                CHECK(false);
            } catch (const EngineFailed& failed) {
                CHECK(failed.rank == 1);
            }
        }
    });
    on_all([&](int rank) { engines[rank]->close(); });
}

void sleep_on(int bell) {
    pollfd polled{bell, POLLIN, 0};
    CHECK(::poll(&polled, 1, static_cast<int>(1000 * kPatience_s)) == 1);
}

/// A stream in pieces of random sizes through a ring that is much smaller, between two threads of
/// which each sleeps whenever it can do nothing.
void stream_through_memory() {
    constexpr std::uint64_t kWords = 400'000;
    int bells[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, bells) == 0);
    const Descriptor ends[] = {Descriptor(bells[0]), Descriptor(bells[1])};
    auto writer = SharedMemory::made(1, bells[0]);
    auto reader = SharedMemory::joined(writer->handle(), bells[1]);
    std::thread writing([&] {
        std::mt19937 random(3);
        std::vector<std::uint64_t> words;
        for (std::uint64_t next = 0; next < kWords;) {
            words.assign(std::min<std::uint64_t>(1 + random() % 20'000, kWords - next), 0);
            for (std::uint64_t& word : words) word = next++;
            iovec piece{words.data(), words.size() * sizeof(words[0])};
            while (piece.iov_len > 0) {
                const std::size_t taken = writer->write(&piece, 1);
                piece = {static_cast<char*>(piece.iov_base) + taken, piece.iov_len - taken};
                if (piece.iov_len == 0 || !writer->is_full()) continue;
                sleep_on(bells[0]);
                writer->silence_bell();
            }
        }
    });
    std::mt19937 random(4);
    for (std::uint64_t next = 0; next < kWords;) {
        const SharedMemory::Bytes come = reader->readable();
        const std::size_t words = std::min<std::size_t>(come.size / 8, 1 + random() % 9000);
        for (std::size_t i = 0; i < words; ++i, ++next) {
            CHECK(std::memcmp(come.data + 8 * i, &next, sizeof(next)) == 0);
        }
        reader->consume(8 * words);
        if (words < come.size / 8 || next == kWords || !reader->is_drained()) continue;
        sleep_on(bells[1]);
        reader->silence_bell();
    }
    writing.join();
}

}  // namespace

int main() {
    stream_through_memory();
    for (const int memory_ranks : {0, kRanks - 1, kRanks}) {
        for (const bool in_order : {false, true}) {
            reduce_and_change_plans(in_order, memory_ranks);
            call_every_kind(in_order, memory_ranks);
        }
        wait_for_small_ones(memory_ranks);
        for (int repetition = 0; repetition < 3; ++repetition) {
            leave_in_the_middle(memory_ranks);
            leave_small_ones(memory_ranks);
        }
    }
    std::puts("all sums right, all failures told");
}
