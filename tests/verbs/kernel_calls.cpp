// What rdcp asks the kernel of the made-up devices: their interfaces, and files of sysfs and /proc/sys. Files
// come from a directory that is filled when somebody first looks, and removed by whoever has made it.
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>

#include "tests/verbs/fabric.h"

namespace rdcp::made_up {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kClass = "/sys/class/infiniband";
constexpr unsigned kFirstIndex = 70'000;  // of interfaces; the kernel's are far below

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::vector<std::string> interfaces() {
  std::vector<std::string> found;
  for (const auto& device : fabric().devices()) {
    for (const Port& port : device->description.ports) {
      for (const IpAddress& address : port.addresses) {
        if (std::ranges::find(found, address.interface) == found.end()) found.push_back(address.interface);
      }
    }
  }
  return found;
}

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

// A list of interfaces whose head is made up and whose end is the kernel's.
struct Interfaces {
  struct One {
    ifaddrs entry{};
    std::string name;
    sockaddr_storage address{}, mask{};
  };
  std::list<One> made;
  ifaddrs* rest = nullptr;
};
std::list<Interfaces> told;

void fill(Interfaces::One& one, const IpAddress& address) {
  one.name = address.interface;
  const bool v6 = address.host.find(':') != std::string::npos;
  one.address.ss_family = one.mask.ss_family = v6 ? AF_INET6 : AF_INET;
  void* host = v6 ? static_cast<void*>(&reinterpret_cast<sockaddr_in6&>(one.address).sin6_addr)
                  : &reinterpret_cast<sockaddr_in&>(one.address).sin_addr;
  ::inet_pton(one.address.ss_family, address.host.c_str(), host);
  auto* mask = v6 ? reinterpret_cast<std::uint8_t*>(&reinterpret_cast<sockaddr_in6&>(one.mask).sin6_addr)
                  : reinterpret_cast<std::uint8_t*>(&reinterpret_cast<sockaddr_in&>(one.mask).sin_addr);
  for (unsigned bit = 0; bit < address.prefix_bits; ++bit)
    mask[bit / 8] |= static_cast<std::uint8_t>(0x80 >> bit % 8);
  one.entry.ifa_name = one.name.data();
  one.entry.ifa_flags = IFF_UP | IFF_RUNNING;
  one.entry.ifa_addr = reinterpret_cast<sockaddr*>(&one.address);
  one.entry.ifa_netmask = reinterpret_cast<sockaddr*>(&one.mask);
}

mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}

}  // namespace

// These take the place of the C library's functions.
int get_interfaces(ifaddrs** list) asm("getifaddrs");
void free_interfaces(ifaddrs* list) asm("freeifaddrs");
char* index_to_name(unsigned index, char* name) asm("if_indextoname");
unsigned name_to_index(const char* name) asm("if_nametoindex");
FILE* open_stream(const char* path, const char* mode) asm("fopen");
FILE* open_stream64(const char* path, const char* mode) asm("fopen64");
int open_file(const char* path, int flags, ...) asm("open");
int open_file_at(int directory, const char* path, int flags, ...) asm("openat");
DIR* open_directory(const char* path) asm("opendir");
int look_at(const char* path, struct stat* status) asm("stat");

int get_interfaces(ifaddrs** list) {
  const auto held = fabric().lock();
  Interfaces& made = told.emplace_back();
  if (real<int(ifaddrs**)>("getifaddrs")(&made.rest) != 0) made.rest = nullptr;
  *list = made.rest;
  for (const auto& device : fabric().devices()) {
    for (const Port& port : device->description.ports) {
      for (const IpAddress& address : port.addresses) {
        Interfaces::One& one = made.made.emplace_front();
        fill(one, address);
        one.entry.ifa_next = *list;
        *list = &one.entry;
      }
    }
  }
  return 0;
}

void free_interfaces(ifaddrs* list) {
  const auto held = fabric().lock();
  const auto found = std::ranges::find_if(told, [list](const Interfaces& each) {
    return each.made.empty() ? each.rest == list : &each.made.front().entry == list;
  });
  if (found == told.end()) return;
  if (found->rest != nullptr) real<void(ifaddrs*)>("freeifaddrs")(found->rest);
  told.erase(found);
}

char* index_to_name(unsigned index, char* name) {
  const auto held = fabric().lock();
  const auto all = interfaces();
  if (index < kFirstIndex || index - kFirstIndex >= all.size()) {
    return real<char*(unsigned, char*)>("if_indextoname")(index, name);
  }
  return std::strcpy(name, all[index - kFirstIndex].c_str());
}

unsigned name_to_index(const char* name) {
  const auto held = fabric().lock();
  const unsigned index = index_of_interface(name);
  return index != 0 ? index : real<unsigned(const char*)>("if_nametoindex")(name);
}

FILE* open_stream(const char* path, const char* mode) {
  return real<FILE*(const char*, const char*)>("fopen")(fabric().file_for(path).c_str(), mode);
}

FILE* open_stream64(const char* path, const char* mode) {
  return open_stream(path, mode);
}

int open_file(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return real<int(const char*, int, ...)>("open")(fabric().file_for(path).c_str(), flags, mode);
}

int open_file_at(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return real<int(int, const char*, int, ...)>("openat")(directory, fabric().file_for(path).c_str(), flags,
                                                         mode);
}

DIR* open_directory(const char* path) {
  return real<DIR*(const char*)>("opendir")(fabric().file_for(path).c_str());
}

int look_at(const char* path, struct stat* status) {
  return real<int(const char*, struct stat*)>("stat")(fabric().file_for(path).c_str(), status);
}

unsigned index_of_interface(const std::string& name) {
  const auto all = interfaces();
  const auto found = std::ranges::find(all, name);
  return found == all.end() ? 0 : kFirstIndex + static_cast<unsigned>(found - all.begin());
}

MadeUpFiles::~MadeUpFiles() {
  clear();
}

void MadeUpFiles::clear() {
  if (!root_.empty() && made_by_ == ::getpid()) fs::remove_all(root_);
  root_.clear();
}

void MadeUpFiles::make(const std::vector<std::shared_ptr<OwnedDevice>>& devices) {
  std::string root = fs::temp_directory_path() / "rdcp-verbs-XXXXXX";
  if (::mkdtemp(root.data()) == nullptr) return;
  root_ = root;
  made_by_ = ::getpid();
  const fs::path top = root_ + std::string(kClass);
  if (!devices.empty()) fs::create_directories(root_ + std::string(kClass) + "_verbs");
  for (const auto& device : devices) {
    fs::create_directories(top / device->description.name);
    for (const auto& [name, text] : device->description.files) {
      put(name.starts_with('/') ? fs::path(root_ + name) : top / device->description.name / name, text);
    }
  }
}

// A path beneath /sys/class/infiniband is made up; one of interfaces, NUMA nodes, /proc/sys/net or configfs
// is where a device says so.
std::string Fabric::file_for(const char* path) {
  const std::string_view asked(path);
  const bool of_class = asked.starts_with(kClass);
  const bool may_be = asked.starts_with("/proc/sys/net/") ||
                      asked.starts_with("/sys/kernel/config/rdma_cm") ||
                      asked.starts_with("/sys/class/net/") || asked.starts_with("/sys/devices/system/node");
  if (!of_class && !may_be) return path;
  const auto held = lock();
  if (files_.root().empty()) files_.make(devices_);
  std::string made = files_.root() + path;
  return of_class || ::access(made.c_str(), F_OK) == 0 ? made : path;
}

void Fabric::put_file(const std::string& path, const std::string& text) {
  const auto held = lock();
  if (files_.root().empty()) files_.make(devices_);
  put(files_.root() + path, text);
}

}  // namespace rdcp::made_up
