// Runs a fuzz target over its corpus, and over each file cut short and with single bits flipped: what a build
// without libFuzzer can hold of what the fuzzer has found. Arguments: the target's name, the corpus's folder.
// Without arguments it prints the names of all targets.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/targets.h"

namespace {

using rdcp::fuzz::FuzzTarget;

constexpr std::size_t kPlaces = 256;      // where a file is cut, and a bit flipped
constexpr std::size_t kCostlyPlaces = 2;  // the same for a target whose runs are slow

std::vector<std::byte> content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto read = std::as_bytes(std::span(bytes));
  return {read.begin(), read.end()};
}

// Returns the number of inputs.
std::size_t run_variants(const FuzzTarget& target, std::vector<std::byte> bytes) {
  std::size_t inputs = 1;
  target.run(rdcp::fuzz::exact_copy(bytes));
  const std::size_t step = bytes.size() / (target.costly ? kCostlyPlaces : kPlaces) + 1;
  for (std::size_t at = step / 2; at < bytes.size(); at += step) {
    target.run(rdcp::fuzz::exact_copy(std::span(bytes).first(at)));
    for (const std::byte bit : {std::byte{1}, std::byte{0x80}}) {
      bytes[at] ^= bit;
      target.run(rdcp::fuzz::exact_copy(bytes));
      bytes[at] ^= bit;
    }
    inputs += 3;
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const FuzzTarget& target : rdcp::fuzz::all_targets()) std::puts(target.name.data());
    return 0;
  }
  const FuzzTarget* target = rdcp::fuzz::find_target(argv[1]);
  if (target == nullptr || argc != 3) {
    std::fputs("usage: fuzz_replay TARGET FOLDER\n", stderr);
    return 2;
  }
  std::size_t inputs = 0;
  for (const auto& file : std::filesystem::directory_iterator(argv[2])) {
    inputs += run_variants(*target, content_of(file.path()));
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
