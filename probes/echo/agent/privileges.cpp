#include "privileges.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace plink {
namespace {

// What Linux itself calls the user and group without rights (/proc/sys/kernel/overflowuid).
constexpr uid_t kNobody = 65534;

// False where the user namespace has no such user: that is no error.
bool become_nobody() {
    return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
           setresuid(kNobody, kNobody, kNobody) == 0;
}

bool clear_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
    return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

bool drop_privileges() {
    if (geteuid() == 0) (void)become_nobody();
    rlimit no_process{0, 0};
    // Last what a change of user would undo.
    if (clear_capabilities() && setrlimit(RLIMIT_NPROC, &no_process) == 0 &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0) {
        return true;
    }
    std::fprintf(stderr, "cannot give up its privileges: %s\n", std::strerror(errno));
    return false;
}

}  // namespace plink
