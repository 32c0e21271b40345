#include "privileges.hpp"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scheduling.hpp"

namespace plink {
namespace {

// What Linux itself calls the user and group without rights (/proc/sys/kernel/overflowuid).
constexpr uid_t kNobody = 65534;
constexpr int64_t kThreadsWithin = 2 * kSecond;

// False where the user namespace has no such user: that is no error.
bool become_nobody() {
    return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
           setresuid(kNobody, kNobody, kNobody) == 0;
}

// What belongs to the calling thread alone: its capabilities, and that it may gain some.
bool drop_of_this_thread() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
    return syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

std::atomic<int> threads_done;

// A thread's capabilities are its own to give up: it is made to by this signal.
void on_drop_signal(int) {
    int error = errno;
    if (drop_of_this_thread()) ++threads_done;
    errno = error;
}

// Sends the signal to all threads but this one. Returns how many they are: none where there is no
// /proc, without which DPDK does not start, and nobody else starts any.
int signal_other_threads(int signal) {
    DIR* threads = opendir("/proc/self/task");
    if (threads == nullptr) return 0;
    int sent = 0;
    while (const dirent* entry = readdir(threads)) {
        auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (thread <= 0 || thread == gettid()) continue;
        if (syscall(SYS_tgkill, getpid(), thread, signal) == 0) ++sent;
    }
    closedir(threads);
    return sent;
}

bool drop_of_other_threads() {
    struct sigaction handler{};
    struct sigaction before{};
    handler.sa_handler = on_drop_signal;
    handler.sa_flags = SA_RESTART;
    if (sigaction(SIGUSR1, &handler, &before) != 0) return false;
    int threads = signal_other_threads(SIGUSR1);
    int64_t deadline_ns = now_ns() + kThreadsWithin;
    while (threads_done < threads && now_ns() < deadline_ns) usleep(100);
    sigaction(SIGUSR1, &before, nullptr);
    if (threads_done == threads) return true;
    errno = ETIMEDOUT;
    return false;
}

}  // namespace

bool drop_privileges() {
    if (geteuid() == 0) (void)become_nobody();
    rlimit no_process{0, 0};
    // Last what a change of user would undo. Before /proc belongs to root, the other threads.
    if (drop_of_this_thread() && drop_of_other_threads() &&
        setrlimit(RLIMIT_NPROC, &no_process) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) {
        return true;
    }
    std::fprintf(stderr, "cannot give up its privileges: %s\n", std::strerror(errno));
    return false;
}

}  // namespace plink
