// All code that reads entries at a source needs these.
#pragma once

#include "tree/meta/metadata.h"
#include "tree/meta/names.h"
#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// names and reporter are thread-safe, and outlive every user of the context.
struct ReadContext {
  MetadataPolicy policy;  // which metadata are read
  NameTable& names;
  Reporter& reporter;
};

}  // namespace rdcp::tree
