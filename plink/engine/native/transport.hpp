#pragma once

/// The engine's ranks meet and talk by the transport.
namespace plink::transport {}

namespace plink::engine {
using namespace transport;
}
