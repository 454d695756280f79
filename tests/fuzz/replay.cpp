// Runs a fuzz target over its corpus, and over each file cut short and with single bits flipped: what a build
// without libFuzzer can hold of what the fuzzer has found. Arguments: the corpus's folder.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  const auto run = [&](const std::vector<std::uint8_t>& bytes) {
    // A copy of exactly its size, so that AddressSanitizer sees a read behind its end.
    const std::vector<std::uint8_t> exact(bytes);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    ++inputs;
  };
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream stream(file.path(), std::ios::binary);
      std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
      run(bytes);
      const std::size_t step = bytes.size() / 256 + 1;
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        run({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
        for (const int bit : {0, 7}) {
          bytes[at] ^= static_cast<std::uint8_t>(1 << bit);
          run(bytes);
          bytes[at] ^= static_cast<std::uint8_t>(1 << bit);
        }
      }
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
