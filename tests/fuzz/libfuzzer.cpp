// One libFuzzer program for all targets: fuzz --target=NAME [OPTION OF LIBFUZZER...] [CORPUS...]. libFuzzer
// itself passes over an option with two dashes, and hands it on to the processes that it starts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const rdcp::fuzz::FuzzTarget* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (word.starts_with(kOption)) chosen = rdcp::fuzz::find_target(word.substr(kOption.size()));
  }
  if (chosen != nullptr) return 0;
  std::fputs("usage: fuzz --target=NAME [LIBFUZZER'S OPTIONS] [CORPUS]; the targets are\n", stderr);
  for (const auto& target : rdcp::fuzz::all_targets()) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(target.name.size()), target.name.data());
  }
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run(std::as_bytes(std::span(data, size)));
  return 0;
}
