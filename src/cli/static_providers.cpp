#include <infiniband/verbs.h>

#include "cli/static_providers.h"

namespace rdcp::cli {

void use_static_providers() {
  ::ibv_static_providers(nullptr, &verbs_provider_all, nullptr);
}

}  // namespace rdcp::cli
