#include "io/numa.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

namespace rdcp::io {
namespace {

using Mask = std::vector<unsigned long>;

constexpr unsigned kBitsOfWord = 8 * sizeof(unsigned long);
// Linux has at most 8,192 processors (CONFIG_NR_CPUS) and 1,024 nodes (CONFIG_NODES_SHIFT).
constexpr unsigned kCpusMax = 1 << 16;
constexpr unsigned kNodesMax = 1 << 10;

void set_bit(Mask& mask, unsigned bit) {
  mask[bit / kBitsOfWord] |= 1UL << bit % kBitsOfWord;
}

bool has_bit(const Mask& mask, unsigned bit) {
  return (mask[bit / kBitsOfWord] >> bit % kBitsOfWord & 1UL) != 0;
}

// Takes a number off the front of the text.
std::optional<unsigned> take_number(std::string_view& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number >= kCpusMax) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_sign(std::string_view& text, char sign) {
  const bool there = text.starts_with(sign);
  if (there) text.remove_prefix(1);
  return there;
}

// Returns the number of "node12"; nothing for other names.
std::optional<int> node_number(std::string_view name) {
  constexpr std::string_view kHead = "node";
  if (!name.starts_with(kHead)) return std::nullopt;
  name.remove_prefix(kHead.size());
  const auto number = take_number(name);
  if (!number || *number >= kNodesMax || !name.empty()) return std::nullopt;
  return static_cast<int>(*number);
}

Cpus cpus_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return parse_cpus(line).value_or(Cpus());
}

Result<void> run_on(const Cpus& cpus) {
  Mask mask(cpus.back() / kBitsOfWord + 1);
  for (const unsigned cpu : cpus) set_bit(mask, cpu);
  const auto* set = reinterpret_cast<const cpu_set_t*>(mask.data());
  if (::sched_setaffinity(0, mask.size() * sizeof(unsigned long), set) == 0) return {};
  return errno_error("run on", "processors " + text_of(cpus));
}

// The C library has no functions for these calls, and libnuma would be a library for two of them. The kernel
// reads one bit less than it is told.
Result<void> take_memory_of(int node) {
  const auto refused = [node] { return errno_error("take memory of", fmt::format("NUMA node {}", node)); };
  int policy = MPOL_DEFAULT;
  if (::syscall(SYS_get_mempolicy, &policy, nullptr, 0, nullptr, 0) != 0) return refused();
  if (policy != MPOL_DEFAULT) return {};
  Mask mask(kNodesMax / kBitsOfWord);
  set_bit(mask, static_cast<unsigned>(node));
  if (::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), kNodesMax + 1) != 0) return refused();
  return {};
}

}  // namespace

std::optional<Cpus> parse_cpus(std::string_view list) {
  Cpus cpus;
  while (!list.empty()) {
    const auto first = take_number(list);
    const auto last = first && take_sign(list, '-') ? take_number(list) : first;
    const bool goes_on = take_sign(list, ',');
    if (!last || *last < *first || goes_on == list.empty()) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string text_of(const Cpus& cpus) {
  std::string text;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[first]);
    if (last > first) text += fmt::format("-{}", cpus[last]);
    first = last + 1;
  }
  return text;
}

Cpus common_cpus(const Cpus& some, const Cpus& others) {
  Cpus common;
  std::ranges::set_intersection(some, others, std::back_inserter(common));
  return common;
}

std::vector<NumaNode> numa_nodes(const std::filesystem::path& sysfs) {
  std::vector<NumaNode> nodes;
  std::error_code error;
  auto each = std::filesystem::directory_iterator(sysfs / "devices/system/node", error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    const auto number = node_number(each->path().filename().native());
    if (!number) continue;
    Cpus cpus = cpus_in(each->path() / "cpulist");
    if (!cpus.empty()) nodes.push_back({*number, std::move(cpus)});
  }
  std::ranges::sort(nodes, {}, &NumaNode::number);
  return nodes;
}

// The kernel refuses a mask that is shorter than its own.
Cpus allowed_cpus() {
  Cpus cpus;
  for (unsigned bits = CPU_SETSIZE; bits <= kCpusMax; bits *= 2) {
    Mask mask(bits / kBitsOfWord);
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (::sched_getaffinity(0, mask.size() * sizeof(unsigned long), set) != 0) continue;
    for (unsigned cpu = 0; cpu < bits; ++cpu) {
      if (has_bit(mask, cpu)) cpus.push_back(cpu);
    }
    break;
  }
  return cpus;
}

NumaPlace place_near(int node, const std::vector<NumaNode>& nodes, const Cpus& allowed) {
  const auto found = std::ranges::find(nodes, node, &NumaNode::number);
  if (nodes.size() < 2 || found == nodes.end()) return {};
  Cpus cpus = common_cpus(found->cpus, allowed);
  if (cpus.empty()) return {};
  return {node, std::move(cpus)};
}

Result<void> go_to(const NumaPlace& place) {
  if (place.anywhere()) return {};
  auto there = run_on(place.cpus);
  auto memory = take_memory_of(place.node);
  return there ? std::move(memory) : std::move(there);
}

}  // namespace rdcp::io
