#include "cli/runs/copy_sums.h"

#include <utility>

namespace rdcp::cli {

io::Result<CopySums> CopySums::open(const std::string& manifest_path, const std::string& sums_path,
                                    mode_t umask) {
  using tree::SumForm;
  CopySums sums;
  const std::pair<const std::string&, SumForm> files[] = {{manifest_path, SumForm::manifest},
                                                          {sums_path, SumForm::xxhsum}};
  for (const auto& [path, form] : files) {
    if (path.empty()) continue;
    auto writer = tree::SumWriter::open(path, form, 0666 & ~umask);
    if (!writer) return writer.error();
    sums.writers_.push_back(std::move(*writer));
  }
  return sums;
}

void CopySums::add(const tree::SumLine& line) {
  for (tree::SumWriter& writer : writers_) {
    const auto added = error_ ? io::Result<void>() : writer.add(line);
    if (!added) error_ = added.error();
  }
}

io::Result<void> CopySums::finish() {
  if (error_) return *error_;
  for (tree::SumWriter& writer : writers_) {
    if (auto published = writer.publish(); !published) return published;
  }
  return {};
}

}  // namespace rdcp::cli
