#include "own.hpp"

#include <set>

namespace plink::control {

namespace {

constexpr std::size_t kMostCharacters = 80;

/// The first characters of UTF-8.
std::string beginning(const std::string& text) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
        if (begins && characters++ == kMostCharacters) return text.substr(0, i);
    }
    return text;
}

/// What no message holds, for people; empty where one does.
std::string size_problem(const Request& request) {
    std::vector<const std::string*> names{&request.name};
    for (const std::string& name : request.members) names.push_back(&name);
    for (const std::string* name : names) {
        if (name->size() > kMostNameBytes) {
            return "the name '" + beginning(*name) + "...' has more than " +
                   std::to_string(kMostNameBytes) + " bytes";
        }
    }
    if (request.tensors.size() > kMostTensors) {
        return "the group '" + request.name + "' has more than " + std::to_string(kMostTensors) +
               " tensors";
    }
    for (const Tensor& tensor : request.tensors) {
        if (tensor.shape.size() > kMostDimensions) {
            return "'" + request.name + "' has a tensor of more than " +
                   std::to_string(kMostDimensions) + " dimensions";
        }
        if (tensor.size_bytes() > kMostTensorBytes) {
            return "'" + request.name + "' has a tensor of more bytes than can be";
        }
    }
    return "";
}

}  // namespace

std::string Own::problem(const std::vector<RequestRef>& requests) const {
    if (has_joined_ && !requests.empty()) {
        return "'" + requests.front()->name + "' is announced after this rank has joined";
    }
    std::unordered_set<std::string> taken;
    for (const RequestRef& request : requests) {
        if (std::string problem = size_problem(*request); !problem.empty()) return problem;
        const auto own = request->names();
        std::set<std::string> names(own.begin(), own.end());
        if (names.size() != own.count) {
            return "the group '" + request->name + "' has a tensor twice";
        }
        names.insert(request->name);
        for (const std::string& name : names) {
            if (requests_.count(name) + tensors_.count(name) + taken.count(name) > 0) {
                return "'" + name + "' is pending already";
            }
        }
        taken.insert(names.begin(), names.end());
    }
    return "";
}

std::optional<RefuseHere> Own::announce(const std::vector<RequestRef>& requests,
                                        const std::string& failed) {
    if (const std::string why = failed.empty() ? problem(requests) : failed; !why.empty()) {
        std::vector<std::string> names;
        for (const RequestRef& request : requests) names.push_back(request->name);
        return RefuseHere{std::move(names), why};
    }
    for (const RequestRef& request : requests) keep(request);
    return std::nullopt;
}

void Own::keep(const RequestRef& request) {
    requests_[request->name] = request;
    for (const std::string& tensor : request->names()) tensors_.insert(tensor);
}

bool Own::forget(const std::string& name) {
    const auto found = requests_.find(name);
    if (found == requests_.end()) return false;
    for (const std::string& tensor : found->second->names()) tensors_.erase(tensor);
    requests_.erase(found);
    return true;
}

std::optional<RefuseHere> Own::join(const std::string& failed) {
    if (!failed.empty()) return RefuseHere{{}, failed};
    if (has_joined_) return RefuseHere{{}, "this rank has joined already"};
    has_joined_ = true;
    return std::nullopt;
}

}  // namespace plink::control
