#include "tree/sandbox/sandbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "tree/fs/local_path.h"

namespace rdcp::tree {

namespace {

// Verbs and rdma_cm are files that are opened for writing, even by a side that only reads.
constexpr const char* kRdmaDevices = "/dev/infiniband";

bool is_directory(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

io::Result<void> keep_rdma_devices(LandlockRuleset& rules, std::uint64_t rights) {
  const io::Fd devices(::open(kRdmaDevices, O_PATH | O_DIRECTORY | O_CLOEXEC));
  return devices ? rules.keep_beneath(devices.get(), rights, kRdmaDevices) : io::Result<void>();
}

io::Error with_advice(io::Error error) {
  error.detail = error.message() + "; --no-landlock does without";
  error.operation = "enter";
  error.subject = "the sandbox";
  error.code = 0;
  return error;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

bool has_rdma_devices() {
  return ::access(kRdmaDevices, F_OK) == 0;
}

// First holds, then looks: what the name leads to may change in between.
io::Fd hold_in_place(const std::string& path) {
  io::Fd held(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  const bool known = held && ::fstat(held.get(), &status) == 0;
  if (!known || S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)) held.reset();
  return held;
}

io::Result<HeldPlace> place_of_stream(const std::string& file) {
  if (io::Fd itself = hold_in_place(file)) return HeldPlace{std::move(itself), file};
  std::string path = split_local_path(file).directory;
  io::Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return io::errno_error("open", path);
  return HeldPlace{std::move(fd), std::move(path)};
}

io::Result<void> Sandbox::keep(LandlockRuleset& rules, const SandboxTerms::Place& place,
                               std::uint64_t rights) {
  held_.emplace_back(::fcntl(place.fd, F_DUPFD_CLOEXEC, 0));
  if (!held_.back()) return io::errno_error("hold", place.name);
  return rules.keep_beneath(place.fd, rights, place.name);
}

io::Result<void> Sandbox::enforce(LandlockRuleset::Refused refused, const SandboxTerms& terms) {
  const LandlockRights rights = LandlockRights::of(support_.abi);
  auto rules = LandlockRuleset::create(refused);
  if (!rules) return std::move(rules).error();
  if (auto kept = keep_rdma_devices(*rules, rights.of_content); !kept) return kept;
  for (const SandboxTerms::Place& place : terms.writes) {
    const std::uint64_t kept = is_directory(place.fd) ? rights.changes : rights.of_content;
    if (auto done = keep(*rules, place, kept); !done) return done;
  }
  for (const SandboxTerms::Place& place : terms.links) {
    if (auto done = keep(*rules, place, rights.of_content | rights.refer); !done) return done;
  }
  for (const SandboxTerms::Place& place : terms.removes) {
    if (auto done = keep(*rules, place, rights.removal); !done) return done;
  }
  const bool binds = terms.listens && (refused.tcp & rights.bind) != 0;
  for (unsigned port = binds ? terms.listens->first : 1U; binds && port <= terms.listens->last; ++port) {
    if (auto kept = rules->keep_port(static_cast<std::uint16_t>(port), rights.bind); !kept) return kept;
  }
  return rules->enforce();
}

io::Result<void> Sandbox::enter(const SandboxTerms& terms) {
  const LandlockRights rights = LandlockRights::of(support_.abi);
  if (!wanted_ || entered_ || support_.abi == 0) return {};
  constexpr int kLinksFrom = 2;
  if (terms.links_directories && support_.abi < kLinksFrom) {
    stay_out("with Landlock, Linux 5.13 to 5.18 refuses hard links between directories");
  }
  if (!out_because_.empty()) return {};
  const std::uint64_t outward = terms.signals_others ? rights.outward & ~rights.signals : rights.outward;
  const std::uint64_t tcp = terms.connects ? rights.tcp & ~rights.connect : rights.tcp;
  const auto done = enforce(
      {.filesystem = rights.changes | rights.execute, .tcp = terms.any_tcp ? 0 : tcp, .outward = outward},
      terms);
  if (!done) return with_advice(done.error());
  entered_ = true;
  tcp_kept_ = rights.tcp == 0 || terms.any_tcp || terms.connects;
  for (const SandboxTerms::Place& place : terms.writes) writes_.push_back(place.name);
  for (const SandboxTerms::Place& place : terms.links) links_.push_back(place.name);
  for (const SandboxTerms::Place& place : terms.removes) removes_.push_back(place.name);
  return {};
}

// Linking and renaming between directories is kept everywhere, since enter() has judged it.
io::Result<void> Sandbox::enforce_ports(const std::vector<std::uint16_t>& ports) {
  const LandlockRights rights = LandlockRights::of(support_.abi);
  auto rules = LandlockRuleset::create({.filesystem = rights.refer, .tcp = rights.tcp, .outward = 0});
  if (!rules) return std::move(rules).error();
  const io::Fd everywhere(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!everywhere) return io::errno_error("open", "/");
  if (auto kept = rules->keep_beneath(everywhere.get(), rights.refer, "/"); !kept) return kept;
  for (const std::uint16_t port : ports) {
    if (auto kept = rules->keep_port(port, rights.connect); !kept) return kept;
  }
  return rules->enforce();
}

io::Result<void> Sandbox::keep_connections_to(const std::vector<std::uint16_t>& ports) {
  if (!entered_ || LandlockRights::of(support_.abi).tcp == 0) return {};
  if (auto done = enforce_ports(ports); !done) return with_advice(done.error());
  tcp_kept_ = false;
  ports_ = ports;
  return {};
}

std::string Sandbox::description(const std::string& who) const {
  if (!wanted_) return who + " may do what its user may (--no-landlock)";
  if (!out_because_.empty()) return who + " may do what its user may: " + out_because_;
  if (!entered_) return who + " may do what its user may: " + support_.none_because;
  std::string text =
      who + (writes_.empty() ? " may write nothing" : " may write only beneath " + joined(writes_));
  if (!removes_.empty()) text += ", remove files beneath " + joined(removes_);
  if (!links_.empty()) text += ", link files of " + joined(links_);
  text += tcp_kept_ ? " and execute nothing" : ", execute nothing";
  if (!tcp_kept_) {
    std::vector<std::string> ports;
    for (const std::uint16_t port : ports_) ports.push_back(std::to_string(port));
    text += ports.empty() ? " and make no TCP connection"
                          : " and make TCP connections only to port " + joined(ports);
  }
  return text + " (Landlock ABI " + std::to_string(support_.abi) + ")";
}

}  // namespace rdcp::tree
