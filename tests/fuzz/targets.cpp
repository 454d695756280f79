#include "tests/fuzz/targets.h"

#include <algorithm>
#include <array>

namespace rdcp::fuzz {
namespace {

constexpr std::array kTargets = {
    FuzzTarget{"acl", fuzz_acl},
    FuzzTarget{"agent", fuzz_agent, true},
    FuzzTarget{"archive", fuzz_archive},
    FuzzTarget{"chain", fuzz_chain, true},
    FuzzTarget{"compare", fuzz_compare},
    FuzzTarget{"control", fuzz_control},
    FuzzTarget{"credits", fuzz_credits},
    FuzzTarget{"filter", fuzz_filter},
    FuzzTarget{"frame", fuzz_frame},
    FuzzTarget{"handshake", fuzz_handshake},
    FuzzTarget{"hosts", fuzz_hosts},
    FuzzTarget{"journal", fuzz_journal},
    FuzzTarget{"location", fuzz_location},
    FuzzTarget{"marker", fuzz_marker},
    FuzzTarget{"messages", fuzz_messages},
    FuzzTarget{"names", fuzz_names},
    FuzzTarget{"paths", fuzz_paths},
    FuzzTarget{"patterns", fuzz_patterns},
    FuzzTarget{"probe", fuzz_probe},
    FuzzTarget{"rails", fuzz_rails},
    FuzzTarget{"record", fuzz_record},
    FuzzTarget{"settings", fuzz_settings},
    FuzzTarget{"source", fuzz_source, true},
    FuzzTarget{"sums", fuzz_sums},
    FuzzTarget{"target", fuzz_target, true},
    FuzzTarget{"text", fuzz_text},
};

}  // namespace

std::span<const FuzzTarget> all_targets() {
  return kTargets;
}

const FuzzTarget* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &FuzzTarget::name);
  return found == kTargets.end() ? nullptr : &*found;
}

}  // namespace rdcp::fuzz
