// Reads the hello of an agent of this version or another.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tree/messages/hello.h"

namespace rdcp::tree {

struct HelloRead {
  std::uint32_t protocol = 0;       // the agent's version; 0: the bytes are no hello
  std::optional<Hello> hello = {};  // nothing: it and this program speak no version in common
};

// body: of the message. What the agent's version does not have is as it is by default, in Hello.
HelloRead read_hello(std::string_view body);

}  // namespace rdcp::tree
