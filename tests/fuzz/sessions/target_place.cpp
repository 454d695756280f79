#include "tests/fuzz/sessions/target_place.h"

#include <signal.h>
#include <sys/resource.h>

#include "io/digest.h"
#include "tests/fuzz/sessions/frame_maker.h"
#include "tree/fs/own_names.h"
#include "tree/resume/clean.h"
#include "tree/resume/part_file.h"
#include "tree/resume/run_marker.h"

namespace rdcp::fuzz {
namespace {

using tree::OwnName;

// Its first chunk is there.
void leave_part(int root) {
  auto part = tree::PartFile::open(root, kPartName, {.source = {part_token(), kPartBytes}});
  require(part.has_value());
  const std::string content(kSlotBytes, 'p');
  const tree::UnnamedFile file = part->take_file();
  require(io::write_all(file.fd(), content) == 0);
  part->journal().add(0, content.size(), io::digest_of(bytes_of(content)));
}

}  // namespace

DestinationPlace::DestinationPlace() {
  // A frame may name any size; the machine's memory is not ours to fill.
  const rlimit limit{64 << 20, 64 << 20};
  ::signal(SIGXFSZ, SIG_IGN);
  require(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  require(::mkdirat(scratch_.fd(), "canary", 0750) == 0 && ::mkdirat(scratch_.fd(), "canary/dir", 0700) == 0);
  scratch_.write("canary/file", "sings");
  scratch_.write("canary/dir/below", "sings, too");
  require(::symlinkat("file", scratch_.fd(), "canary/link") == 0);
  require(::linkat(scratch_.fd(), "canary/file", scratch_.fd(), "canary/hard", 0) == 0);
  canary_.reset(::open((scratch_ / "canary").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(bool(canary_));
  before_ = state_of(canary_.get());
}

io::Fd DestinationPlace::open_destination() const {
  return io::Fd(::open(destination().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void DestinationPlace::make_destination(bool with_part, const std::string& marker,
                                        const std::string& outside) {
  remove_destination();
  require(::mkdirat(scratch_.fd(), "dst", 0755) == 0);
  const auto write = [&](const char* name, std::string_view content) {
    scratch_.write(std::string("dst/") + name, content);
  };
  const auto link = [&](const char* name, const std::string& target) {
    require(::symlinkat(target.c_str(), scratch_.fd(), (std::string("dst/") + name).c_str()) == 0);
  };
  require(::mkdirat(scratch_.fd(), "dst/dir", 0755) == 0);
  write("old", "old");
  write("keep", "stays");
  write("dir/x", "in a directory");
  write(kBigName.data(), big_content());
  require(::linkat(scratch_.fd(), "dst/old", scratch_.fd(), "dst/hard", 0) == 0);
  require(::mkfifoat(scratch_.fd(), "dst/fifo", 0600) == 0);
  link("link", "../canary");
  link("filelink", "../canary/file");
  link("dirlink", "dir");
  link("abs", outside);
  link("loop", "loop");
  const io::Fd root(open_destination());
  if (with_part) leave_part(root.get());
  // Its run is over, and so is its lock.
  if (!marker.empty()) require(tree::RunMarker::make(root.get(), marker, "").has_value());
}

// Also what a run beneath the parent may have made beside the canary.
void DestinationPlace::remove_destination() const {
  for (const auto& [path, state] : state_of(scratch_.fd())) {
    if (path.empty() || path == "canary" || path.find('/') != path.npos) continue;
    const io::Fd below(
        ::openat(scratch_.fd(), path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below) remove_all_in(below.get());
    require(::unlinkat(scratch_.fd(), path.c_str(), below ? AT_REMOVEDIR : 0) == 0);
  }
}

void DestinationPlace::check_surroundings() const {
  require(state_of(canary_.get()) == before_);
  for (const auto& [path, state] : state_of(scratch_.fd())) {
    const std::string top = path.substr(0, path.find('/'));
    require(top.empty() || top == "canary" || top == "dst" || tree::own_name(top) != OwnName::none);
  }
}

void DestinationPlace::check_cleaned(bool beneath_parent) const {
  tree::Reporter reporter([](const tree::Problem&) {});
  const std::string root = beneath_parent ? scratch_.path() : destination();
  tree::clean({.path = root, .remove = true}, reporter, [](const tree::Leftovers&) { return true; });
  for (const auto& [path, state] : state_of(scratch_.fd())) {
    require(tree::own_name(path.substr(path.rfind('/') + 1)) == OwnName::none);
  }
}

}  // namespace rdcp::fuzz
