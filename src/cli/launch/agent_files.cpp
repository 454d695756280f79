#include "cli/launch/agent_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "io/whole_range.h"
#include "net/crypto/file_sum.h"

namespace rdcp::cli {
namespace {

constexpr std::string_view kPrefix = "rdcp-agent-";
constexpr std::string_view kSuffix = ".sha256";
constexpr std::string_view kPacked = ".zst";
constexpr std::uint64_t kUnpackedMax = 256 << 20;
constexpr std::size_t kFrameHeaderMax = 18;  // RFC 8878, 3.1.1, with the magic number

bool is_hexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_processor_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_';
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns how many bytes a packed file has when it is unpacked (RFC 8878, Frame_Content_Size); 0: it makes no
// sense.
std::uint64_t unpacked_bytes(const std::string& path) {
  std::array<char, kFrameHeaderMax> header{};
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), header.size());
  const auto bytes = ZSTD_getFrameContentSize(header.data(), static_cast<std::size_t>(file.gcount()));
  return bytes <= kUnpackedMax ? bytes : 0;  // what zstd has for unknown and for errors is larger
}

// Fills in where the agent is, and how large. Returns false if there is none.
bool find_file(const std::string& path, AgentFile& file) {
  struct stat status {};
  const auto is_file = [&] { return ::stat(file.path.c_str(), &status) == 0 && S_ISREG(status.st_mode); };
  file.path = path;
  if (is_file()) {
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    return file.bytes > 0;
  }
  file.path += kPacked;
  file.packed = true;
  file.bytes = is_file() ? unpacked_bytes(file.path) : 0;
  return file.bytes > 0;
}

// Fills in what the list of sums says of the agent. Returns false if it is of no use.
bool read_sums(const std::filesystem::path& sums, AgentFile& file) {
  const std::string name = sums.filename().string();
  file.processor = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  std::ifstream(sums) >> file.sha256;
  if (!find_file(sums.string().substr(0, sums.string().size() - kSuffix.size()), file)) return false;
  return file.sha256.size() == 64 && std::ranges::all_of(file.sha256, is_hexadecimal) &&
         !file.processor.empty() && std::ranges::all_of(file.processor, is_processor_letter);
}

// Returns a descriptor of the unpacked content, which is in memory only.
io::Result<io::Fd> unpack(const AgentFile& file) {
  const std::string packed = content_of(file.path);
  std::string content(file.bytes, '\0');
  const std::size_t bytes = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(bytes) != 0 || bytes != content.size()) {
    return io::plain_error(io::ErrorKind::unreachable, "unpack", file.path,
                           "it is damaged; install rdcp anew here");
  }
  io::Fd fd(::memfd_create("rdcp-agent", MFD_CLOEXEC));
  const int code = fd ? io::write_range(fd.get(), std::as_bytes(std::span(content)), 0) : errno;
  if (code != 0) return io::errno_error("unpack", file.path, code, io::ErrorKind::unreachable);
  return fd;
}

io::Result<io::Fd> open_content(const AgentFile& file) {
  if (file.packed) return unpack(file);
  io::Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return io::errno_error("open", file.path, errno, io::ErrorKind::unreachable);
  return fd;
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
  auto fd = open_content(file);
  if (!fd || net::sha256_of_file(fd->get()) == file.sha256) return fd;
  return io::plain_error(io::ErrorKind::unreachable, "put on another host", file.path,
                         "its content is not what its .sha256 says; install rdcp anew here");
}

}  // namespace rdcp::cli
