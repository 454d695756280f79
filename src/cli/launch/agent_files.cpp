#include "cli/launch/agent_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "net/crypto/file_sum.h"

namespace rdcp::cli {
namespace {

constexpr std::string_view kPrefix = "rdcp-agent-";
constexpr std::string_view kSuffix = ".sha256";

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_processor_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_';
}

// Fills in what the list of sums says of the agent. Returns false if it is of no use.
bool read_sums(const std::filesystem::path& sums, AgentFile& file) {
  const std::string name = sums.filename().string();
  file.path = sums.string().substr(0, sums.string().size() - kSuffix.size());
  file.processor = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  std::ifstream(sums) >> file.sha256;
  struct stat status {};
  if (::stat(file.path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
    return false;
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  return file.sha256.size() == 64 && std::ranges::all_of(file.sha256, is_hexadecimal) &&
         !file.processor.empty() && std::ranges::all_of(file.processor, is_processor_letter);
}

}  // namespace

std::string own_path() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::string() : path.string();
}

std::vector<AgentFile> agent_files() {
  return agent_files_of(own_path());
}

std::vector<AgentFile> agent_files_of(std::string_view program) {
  const std::filesystem::path here = std::filesystem::path(program).parent_path();
  std::vector<AgentFile> files;
  for (const auto& folder : {here, here.parent_path() / "libexec" / "rdcp"}) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
      AgentFile file;
      if (!read_sums(entry.path(), file)) continue;
      const bool known = std::ranges::any_of(
          files, [&](const AgentFile& other) { return other.processor == file.processor; });
      if (!known) files.push_back(std::move(file));
    }
  }
  return files;
}

io::Result<io::Fd> open_agent(const AgentFile& file) {
  io::Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return io::errno_error("open", file.path, errno, io::ErrorKind::unreachable);
  if (net::sha256_of_file(fd.get()) == file.sha256) return fd;
  return io::plain_error(io::ErrorKind::unreachable, "put on another host", file.path,
                         "its content is not what its .sha256 says; install rdcp anew here");
}

}  // namespace rdcp::cli
