#include "pending.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace plink::control {

namespace {

constexpr std::size_t kMostVersions = 3;

/// A tensor that is in two requests of different names.
std::string shared_tensor(const Versions& versions) {
    std::unordered_map<std::string, const std::string*> owners;
    for (const Version& version : versions) {
        for (const std::string& tensor : version.request->names()) {
            const auto [owner, is_new] = owners.emplace(tensor, &version.request->name);
            if (!is_new && *owner->second != version.request->name) return tensor;
        }
    }
    return "None";
}

}  // namespace

Ranks Pending::announced() const {
    Ranks ranks;
    for (const Version& version : versions) ranks |= version.ranks;
    return ranks;
}

void Pending::add(std::int64_t source, const Versions& news) {
    said.emplace_back(source, news);
    for (const Version& version : news) {
        heard.emplace(version.request->name, source);
        const auto known = std::find_if(versions.begin(), versions.end(), [&](const Version& one) {
            return is_same(one.request, version.request);
        });
        if (known != versions.end()) {
            known->ranks |= version.ranks;
        } else {
            versions.push_back(version);
        }
    }
}

void Pending::absorb(const Pending& other) {
    names.insert(names.end(), other.names.begin(), other.names.end());
    first_s = std::min(first_s, other.first_s);
    versions.insert(versions.end(), other.versions.begin(), other.versions.end());
    said.insert(said.end(), other.said.begin(), other.said.end());
    heard.insert(other.heard.begin(), other.heard.end());
}

bool Pending::is_complete(const std::set<std::int64_t>& sources) const {
    if (heard.size() < sources.size()) return false;
    std::set<std::int64_t> who;
    for (const auto& [name, source] : heard) who.insert(source);
    return std::includes(who.begin(), who.end(), sources.begin(), sources.end());
}

std::string disagreement(Versions versions) {
    std::stable_sort(versions.begin(), versions.end(), [](const Version& one, const Version& two) {
        return one.ranks.spans() < two.ranks.spans();
    });
    const std::string name = versions.front().request->name;
    const bool is_one_name =
        std::all_of(versions.begin(), versions.end(),
                    [&name](const Version& version) { return version.request->name == name; });
    std::string text = "ranks differ in ";
    text += is_one_name ? "'" + name + "': it is " : "where '" + shared_tensor(versions) + "' is: ";
    for (std::size_t i = 0; i < std::min(versions.size(), kMostVersions); ++i) {
        const auto& [request, ranks] = versions[i];
        if (i > 0) text += ", and ";
        text += is_one_name ? request->described() : "in '" + request->name + "'";
        text += " on " + ranks.described();
    }
    if (versions.size() > kMostVersions) {
        text += ", and " + std::to_string(versions.size() - kMostVersions) + " more";
    }
    return text;
}

std::string missing_text(const std::string& name, double waited_s, const Ranks& announced,
                         const Ranks& missing) {
    const std::string who = announced.empty() ? "nobody" : announced.described();
    return "'" + name + "' has waited " + general(std::floor(10.0 * waited_s + 0.5) / 10.0) +
           " s for " + missing.described() + "; " + who + " announced it";
}

}  // namespace plink::control
