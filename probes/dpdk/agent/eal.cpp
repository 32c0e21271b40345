#include "eal.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "print_error.hpp"

namespace plink {
namespace {

std::string last_line;

ssize_t keep_last_line(void*, const char* text, size_t size) {
    std::string line(text, size);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) last_line = line.substr(line.rfind('\n') + 1);
    return static_cast<ssize_t>(size);
}

// DPDK and its drivers report much that went well, and to the system log.
void hold_back_messages() {
    cookie_io_functions_t functions{};
    functions.write = keep_last_line;
    FILE* stream = fopencookie(nullptr, "w", functions);
    std::setvbuf(stream, nullptr, _IOLBF, 256);
    rte_openlog_stream(stream);
    rte_log_set_global_level(RTE_LOG_ERR);
}

// Standard output belongs to the coordinator: nothing that a driver prints may reach it.
class SilentOutput {
  public:
    SilentOutput() : saved_(dup(STDOUT_FILENO)) {
        std::fflush(stdout);
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    ~SilentOutput() {
        std::fflush(stdout);
        dup2(saved_, STDOUT_FILENO);
        close(saved_);
    }
    SilentOutput(const SilentOutput&) = delete;
    SilentOutput& operator=(const SilentOutput&) = delete;

  private:
    int saved_;
};

// DPDK makes a folder for every process that uses it, and leaves it there.
class RuntimeFolder {
  public:
    RuntimeFolder() {
        if (mkdtemp(path_.data()) != nullptr) setenv("RUNTIME_DIRECTORY", path_.c_str(), 1);
    }
    ~RuntimeFolder() {
        std::string dpdk = path_ + "/dpdk";
        rmdir((dpdk + "/" + prefix()).c_str());
        rmdir(dpdk.c_str());
        rmdir(path_.c_str());
    }
    RuntimeFolder(const RuntimeFolder&) = delete;
    RuntimeFolder& operator=(const RuntimeFolder&) = delete;

    static std::string prefix() { return "plink-" + std::to_string(getpid()); }

  private:
    std::string path_ = "/tmp/" + prefix() + "-XXXXXX";
};

// One logical core for DPDK, which may run on any processor that this process may use.
std::string logical_core() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::string processors;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &set)) continue;
        processors += (processors.empty() ? "" : ",") + std::to_string(i);
    }
    return "0@(" + processors + ")";
}

}  // namespace

bool start_eal(const std::vector<std::string>& arguments) {
    hold_back_messages();
    std::vector<std::string> all{"plink-dpdk-agent", "--no-telemetry",
                                 "--file-prefix=" + RuntimeFolder::prefix(),
                                 "--lcores=" + logical_core(), "--log-level=*:error"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    int started = -1;
    {
        RuntimeFolder folder;
        SilentOutput silent;
        started = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    }
    if (started < 0) return print_error("DPDK does not start: " + last_eal_message(rte_errno));
    std::atexit([] { rte_eal_cleanup(); });
    return true;
}

std::string last_eal_message(int error) {
    return last_line.empty() ? std::string(rte_strerror(error)) : last_line;
}

}  // namespace plink
