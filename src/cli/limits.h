// What limited a copy: the stage in which the chunks spent most of their time.
#pragma once

#include <string>

#include "tree/message.h"

namespace rdcp::cli {

// "target writes (3.70 GB/s)"; empty when nothing was copied.
std::string limited_by(const tree::Done& source, const tree::Done& target, double seconds);

}  // namespace rdcp::cli
