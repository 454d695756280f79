#include "tree/protocol/hello_reader.h"

#include <utility>

#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

constexpr std::uint32_t kFirstWithOldest = 10;

// As versions up to 9 say it.
struct HelloOf9 {
  Hello& hello;
  auto fields() { return std::tie(hello.protocol, hello.program_version, hello.cpus, hello.boot_id); }
};

}  // namespace

HelloRead read_hello(std::string_view body) {
  std::uint32_t protocol = 0;
  std::uint32_t oldest = 0;
  Decoder versions(body);
  if (!versions.get(protocol)) return {};
  if (protocol < kOldestProtocol) return {.protocol = protocol};
  if (protocol >= kFirstWithOldest && !versions.get(oldest)) return {};
  if (oldest > kProtocolVersion) return {.protocol = protocol};
  Hello hello;
  hello.oldest = protocol;
  HelloOf9 old{hello};
  Decoder decoder(body);
  const bool whole =
      protocol < kFirstWithOldest ? decoder.get_all(old.fields()) : decoder.get_all(hello.fields());
  if (!whole || (protocol <= kProtocolVersion && !decoder.at_end())) return {};
  return {.protocol = protocol, .hello = std::move(hello)};
}

}  // namespace rdcp::tree
