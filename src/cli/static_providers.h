// The providers of RDMA devices in a static program.
#pragma once

namespace rdcp::cli {

// Makes the providers that are linked in (all of Debian's libibverbs-dev) known to libibverbs, which finds
// none otherwise: it would load them. To be called once, before any device is looked for (verbs.h,
// RDMA_STATIC_PROVIDERS).
void use_static_providers();

}  // namespace rdcp::cli
