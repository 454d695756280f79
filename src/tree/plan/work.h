// What a source has to do: one piece of work for a slot of a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/file.h"
#include "tree/pages/names_page.h"
#include "tree/plan/file_transfer.h"
#include "tree/plan/item.h"

namespace rdcp::tree {

struct Work {
  enum class Kind : std::uint8_t { batch, open, span, extent, commit, abandon, lost, names };
  Kind kind = Kind::batch;
  bool by_kernel = false;  // extent: to be copied within the kernel (copy_range)
  bool again = false;      // it was under way on a stream that was lost
  Batch batch;
  NamesBatch names;
  FileTransferRef file;
  io::Extent extent;             // or span
  Spans spans = Spans::none;     // span: how
  std::vector<std::byte> probe;  // span: what was sent over a lost stream, to be sent again as it was
  std::size_t stream = 0;        // lost: which one
};

// Totals as far as they are known.
struct PlanTotals {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool complete = false;
};

}  // namespace rdcp::tree
