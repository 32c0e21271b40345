#include "crowd.hpp"

#include <netinet/in.h>

#include <deque>
#include <queue>
#include <unordered_map>
#include <utility>

namespace plink::transport {

namespace {

constexpr std::size_t kNetworkBytes = 8;
constexpr std::size_t kMappedBytes = 12;

}  // namespace

std::vector<bool> who_goes(const std::vector<std::string>& sources, std::size_t most) {
    std::unordered_map<std::string, std::deque<std::size_t>> of_source;
    for (std::size_t caller = 0; caller < sources.size(); ++caller) {
        of_source[sources[caller]].push_back(caller);
    }
    // Those with most callers first.
    std::priority_queue<std::pair<std::size_t, std::deque<std::size_t>*>> crowded;
    for (auto& [source, callers] : of_source) crowded.emplace(callers.size(), &callers);
    std::vector<bool> goes(sources.size(), false);
    for (std::size_t left = sources.size(); left > most; --left) {
        std::deque<std::size_t>* const callers = crowded.top().second;
        crowded.pop();
        goes[callers->front()] = true;
        callers->pop_front();
        crowded.emplace(callers->size(), callers);
    }
    return goes;
}

std::string source_of(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        const auto& its = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
        return std::string(reinterpret_cast<const char*>(&its), sizeof(its));
    }
    if (address.ss_family == AF_INET6) {
        const auto& its = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
        const std::string bytes(reinterpret_cast<const char*>(&its), sizeof(its));
        return IN6_IS_ADDR_V4MAPPED(&its) ? bytes.substr(kMappedBytes)
                                          : bytes.substr(0, kNetworkBytes);
    }
    return "";
}

}  // namespace plink::transport
