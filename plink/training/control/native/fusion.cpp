#include "fusion.hpp"

#include <algorithm>

namespace plink::control {

namespace {

bool has_only(const Request& request, std::size_t dtype) {
    return std::all_of(request.tensors.begin(), request.tensors.end(),
                       [dtype](const Tensor& tensor) { return tensor.dtype == dtype; });
}

/// Whether both can be in one buffer: all tensors of both have one type.
bool can_share(const Request& one, const Request& other) {
    const std::size_t dtype = one.tensors.front().dtype;
    return one.is_fusible() && other.is_fusible() && one.op == other.op &&
           one.device == other.device && one.prescale == other.prescale &&
           one.postscale == other.postscale && has_only(one, dtype) && has_only(other, dtype);
}

}  // namespace

std::vector<std::vector<RequestRef>> fused(std::vector<RequestRef> requests,
                                           std::uint64_t fusion_bytes) {
    std::vector<std::vector<RequestRef>> batches;
    while (!requests.empty()) {
        std::vector<RequestRef> batch{requests.front()};
        std::uint64_t size_bytes = requests.front()->size_bytes();
        std::vector<RequestRef> passed;
        for (std::size_t i = 1; i < requests.size(); ++i) {
            const std::uint64_t with_bytes = added(size_bytes, requests[i]->size_bytes());
            if (with_bytes <= fusion_bytes && can_share(*batch.front(), *requests[i])) {
                batch.push_back(requests[i]);
                size_bytes = with_bytes;
            } else {
                passed.push_back(requests[i]);
            }
        }
        batches.push_back(std::move(batch));
        requests = std::move(passed);
    }
    return batches;
}

}  // namespace plink::control
