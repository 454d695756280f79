#include "tree/protocol/hello_reader.h"

#include <utility>

#include "tree/protocol/codec.h"

namespace rdcp::tree {
namespace {

constexpr std::uint32_t kFirstWithOldest = 10;
constexpr std::uint32_t kFirstWithAes = 14;

// As versions up to 9 say it.
struct HelloOf9 {
  Hello& hello;
  auto fields() { return std::tie(hello.protocol, hello.program_version, hello.cpus, hello.boot_id); }
};

// As versions 10 to 13 say it.
struct HelloOf13 {
  Hello& hello;
  auto fields() {
    return std::tie(hello.protocol, hello.oldest, hello.program_version, hello.cpus, hello.boot_id,
                    hello.rejoin_socket);
  }
};

bool take(Decoder& decoder, std::uint32_t protocol, Hello& hello) {
  HelloOf9 of9{hello};
  HelloOf13 of13{hello};
  if (protocol < kFirstWithOldest) return decoder.get_all(of9.fields());
  return protocol < kFirstWithAes ? decoder.get_all(of13.fields()) : decoder.get_all(hello.fields());
}

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
  Decoder decoder(body);
  const bool whole = take(decoder, protocol, hello);
  if (!whole || (protocol <= kProtocolVersion && !decoder.at_end())) return {};
  return {.protocol = protocol, .hello = std::move(hello)};
}

}  // namespace rdcp::tree
