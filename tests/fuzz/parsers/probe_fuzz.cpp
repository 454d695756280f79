// What a source may put into a probe: whatever it is, its pieces add up to what it says, and lie beside each
// other. A question about blocks, which travels in a frame's extra field, is held to the same.
#include <algorithm>

#include "tests/fuzz/targets.h"
#include "tree/pages/chunker.h"
#include "tree/pages/probe.h"

namespace rdcp::fuzz {
namespace {

using tree::Probe;

void check_pieces(const Probe& probe) {
  require(probe.count() > 0 && probe.count() <= tree::kSpanPiecesMax);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < probe.count(); ++i) {
    const std::uint64_t length = probe.piece_length(i);
    require(length > 0 && length <= probe.length());
    if (probe.form() == Probe::Form::blocks) {
      const io::Extent block = probe.block(i);
      require(block.offset == sum && block.length == length && length <= probe.size());
    }
    sum += length;
  }
  require(sum == probe.length());
}

// What was read is what the source's functions write.
void check_round_trip(const Probe& probe, Bytes input) {
  std::vector<std::byte> again(Probe::bytes_of(probe.form(), probe.count()));
  require(again.size() == input.size());
  Probe::put_head(again, probe.form(), probe.length(), probe.size());
  for (std::size_t i = 0; i < probe.count(); ++i) {
    if (probe.form() == Probe::Form::blocks) {
      Probe::put_digest(again, i, probe.digest(i));
    } else {
      Probe::put_chunk(again, i, probe.digest(i), probe.piece_length(i));
    }
  }
  require(std::ranges::equal(again, input));
}

}  // namespace

void fuzz_probe(Bytes input) {
  if (const auto probe = Probe::parse(input)) {
    check_pieces(*probe);
    check_round_trip(*probe, input);
    if (probe->form() == Probe::Form::chunks) require(tree::Chunker::is_average(probe->size()));
  }
  io::Digest extra;
  if (input.size() < extra.bytes.size()) return;
  std::ranges::copy(input.first(extra.bytes.size()), extra.bytes.begin());
  if (const auto question = Probe::parse_question(extra)) {
    check_pieces(*question);
    io::Digest again;
    Probe::put_question(again, question->length(), question->size());
    require(again == extra);
  }
}

}  // namespace rdcp::fuzz
