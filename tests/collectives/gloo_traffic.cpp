// An allreduce (float, sum) of each of Gloo's algorithms among the first N ranks, for each N, and
// what the kernel says was sent.
//
// Usage: gloo_traffic ELEMENTS FOLDER LIMIT_S LABEL:N[,LABEL:N...] NAMESPACE...
//
// One process per network namespace is a rank, in this order. Rank R writes its kernel's TCP
// counters before and after into FOLDER/LABEL-N-R-before and -after. Writes "wrong LABEL N" where a
// sum is wrong; ends with 0 where no rank failed otherwise.
#include <fcntl.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Context = std::shared_ptr<gloo::Context>;

struct Case {
    std::string label;
    int ranks;
};

struct Job {
    size_t elements;
    std::string folder;
    unsigned limit_s;
    std::vector<Case> cases;
    std::vector<std::string> namespaces;
};

// Shared by all processes: what waits must send nothing.
pthread_barrier_t* shared_barrier(unsigned processes) {
    void* place = mmap(nullptr, sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    auto* barrier = static_cast<pthread_barrier_t*>(place);
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier, &attributes, processes);
    return barrier;
}

void enter(const std::string& name) {
    const int place = open(("/run/netns/" + name).c_str(), O_RDONLY);
    if (place < 0 || setns(place, CLONE_NEWNET) != 0) {
        throw std::runtime_error("cannot enter " + name);
    }
    close(place);
}

// What LABEL stands for, on a buffer.
std::function<void()> algorithm(const std::string& label, const Context& context,
                                std::vector<float>& buffer) {
    const std::vector<float*> buffers{buffer.data()};
    const size_t count = buffer.size();
    std::shared_ptr<gloo::Algorithm> legacy;
    if (label == "gloo-halving-doubling") {
        legacy = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, buffers, count);
    } else if (label == "gloo-ring-legacy") {
        legacy = std::make_shared<gloo::AllreduceRing<float>>(context, buffers, count);
    } else if (label == "gloo-ring-chunked") {
        legacy = std::make_shared<gloo::AllreduceRingChunked<float>>(context, buffers, count);
    } else if (label.rfind("gloo-bcube@", 0) == 0) {
        legacy = std::make_shared<gloo::AllreduceBcube<float>>(context, buffers, count);
    }
    if (legacy) {
        return [legacy] { legacy->run(); };
    }
    using Choice = gloo::AllreduceOptions::Algorithm;
    const Choice choice = label == "gloo-bcube-new" ? Choice::BCUBE : Choice::RING;
    return [context, choice, &buffer] {
        gloo::AllreduceOptions options(context);
        options.setOutput(buffer.data(), buffer.size());
        options.setAlgorithm(choice);
        options.setReduceFunction(
            static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
        gloo::allreduce(options);
    };
}

int base_of(const std::string& label) {
    const size_t at = label.find('@');
    return at == std::string::npos ? 2 : std::stoi(label.substr(at + 1));
}

bool reduce_once(std::vector<float>& buffer, const std::function<void()>& run, int rank,
                 int ranks) {
    for (size_t i = 0; i < buffer.size(); ++i) {
        buffer[i] = static_cast<float>(static_cast<int>(i % 1000) + rank);
    }
    run();
    bool is_right = true;
    for (size_t i = 0; i < buffer.size(); ++i) {
        const int sum = static_cast<int>(i % 1000) * ranks + ranks * (ranks - 1) / 2;
        is_right = is_right && buffer[i] == static_cast<float>(sum);
    }
    return is_right;
}

void save_counters(const Job& job, const Case& each, int rank, const char* when) {
    std::ostringstream command;
    command << "ss -tinHO > " << job.folder << '/' << each.label << '-' << each.ranks << '-' << rank
            << '-' << when;
    if (std::system(command.str().c_str()) != 0) {
        throw std::runtime_error(command.str());
    }
}

void be_rank(const Job& job, int rank, pthread_barrier_t* barrier) {
    alarm(job.limit_s);
    enter(job.namespaces[rank]);
    gloo::transport::tcp::attr attributes;
    attributes.iface = "eth0";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore files(job.folder);
    std::vector<float> buffer(job.elements);
    // A context that ends first would break the others' connections.
    std::vector<Context> contexts;
    for (const Case& each : job.cases) {
        std::function<void()> run;
        if (rank < each.ranks) {
            gloo::rendezvous::PrefixStore store(each.label + std::to_string(each.ranks), files);
            auto context =
                std::make_shared<gloo::rendezvous::Context>(rank, each.ranks, base_of(each.label));
            context->connectFullMesh(store, device);
            contexts.push_back(context);
            run = algorithm(each.label, context, buffer);
            reduce_once(buffer, run, rank, each.ranks);
            pthread_barrier_wait(barrier);
            save_counters(job, each, rank, "before");
            pthread_barrier_wait(barrier);
            if (!reduce_once(buffer, run, rank, each.ranks)) {
                std::printf("wrong %s %d\n", each.label.c_str(), each.ranks);
            }
            pthread_barrier_wait(barrier);
            save_counters(job, each, rank, "after");
        } else {
            pthread_barrier_wait(barrier);
            pthread_barrier_wait(barrier);
            pthread_barrier_wait(barrier);
        }
        pthread_barrier_wait(barrier);
    }
    std::fflush(stdout);
}

Job parse(int argc, char** argv) {
    Job job{std::stoul(argv[1]), argv[2], static_cast<unsigned>(std::stoul(argv[3])), {}, {}};
    std::istringstream cases(argv[4]);
    for (std::string text; std::getline(cases, text, ',');) {
        const size_t colon = text.rfind(':');
        job.cases.push_back({text.substr(0, colon), std::stoi(text.substr(colon + 1))});
    }
    job.namespaces.assign(argv + 5, argv + argc);
    return job;
}

}  // namespace

int main(int argc, char** argv) {
    const Job job = parse(argc, argv);
    pthread_barrier_t* barrier = shared_barrier(static_cast<unsigned>(job.namespaces.size()));
    std::vector<pid_t> children;
    for (size_t rank = 0; rank < job.namespaces.size(); ++rank) {
        const pid_t child = fork();
        if (child == 0) {
            try {
                be_rank(job, static_cast<int>(rank), barrier);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rank %zu: %s\n", rank, error.what());
                _exit(1);
            }
            _exit(0);
        }
        children.push_back(child);
    }
    bool has_failed = false;
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        has_failed = has_failed || status != 0;
    }
    return has_failed ? 1 : 0;
}
