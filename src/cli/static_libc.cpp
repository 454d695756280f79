// In rdcp-agent these take the place of functions of libc that load libraries of the host: in a static
// program they would bring a second libc with them, of any version. So users and groups are those of
// /etc/passwd and /etc/group, addresses are numbers, and a provider of RDMA that is not linked does not
// exist.
#include <arpa/inet.h>
#include <grp.h>
#include <net/if.h>
#include <netdb.h>
#include <pwd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace {

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};

// Where getpwnam_r(3) and its like put what they find: found is the record, or null if there is none.
template <class Record>
struct Answer {
  Record* record;
  char* buffer;
  std::size_t size;
  Record** found;
};

// Reads a file of records with fgetpwent_r(3) or fgetgrent_r(3) up to the one that is_it. Returns 0 or an
// errno; ERANGE asks for a larger buffer.
int find_record(const char* path, auto next, const auto& answer, auto is_it) {
  *answer.found = nullptr;
  const std::unique_ptr<FILE, CloseFile> file(std::fopen(path, "re"));
  if (!file) return errno == ENOENT ? 0 : errno;
  for (;;) {
    auto* one = answer.record;  // becomes null at the end
    const int error = next(file.get(), answer.record, answer.buffer, answer.size, &one);
    if (error != 0) return error == ENOENT ? 0 : error;
    if (!is_it(*one)) continue;
    *answer.found = one;
    return 0;
  }
}

int find_user(passwd* record, char* buffer, std::size_t size, passwd** found, auto is_it) {
  return find_record("/etc/passwd", ::fgetpwent_r, Answer<passwd>{record, buffer, size, found}, is_it);
}

int find_group(group* record, char* buffer, std::size_t size, group** found, auto is_it) {
  return find_record("/etc/group", ::fgetgrent_r, Answer<group>{record, buffer, size, found}, is_it);
}

// An addrinfo and what it points to, in one piece.
struct OneAddress {
  addrinfo info;
  sockaddr_storage address;
};

// Reads HOST or HOST%INTERFACE. Returns false if HOST is no address, or there is no such interface.
bool read_address(std::string_view host, OneAddress& one) {
  const std::size_t percent = host.find('%');
  const std::string number(host.substr(0, percent));
  auto* v4 = reinterpret_cast<sockaddr_in*>(&one.address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&one.address);
  if (percent == host.npos && ::inet_pton(AF_INET, number.c_str(), &v4->sin_addr) == 1) {
    one.info.ai_family = one.address.ss_family = AF_INET;
    one.info.ai_addrlen = sizeof *v4;
    return true;
  }
  if (::inet_pton(AF_INET6, number.c_str(), &v6->sin6_addr) != 1) return false;
  one.info.ai_family = one.address.ss_family = AF_INET6;
  one.info.ai_addrlen = sizeof *v6;
  if (percent == host.npos) return true;
  const std::string interface(host.substr(percent + 1));
  v6->sin6_scope_id = ::if_nametoindex(interface.c_str());
  if (v6->sin6_scope_id == 0) {
    std::from_chars(interface.data(), interface.data() + interface.size(), v6->sin6_scope_id);
  }
  return v6->sin6_scope_id != 0;
}

}  // namespace

extern "C" {

int getpwnam_r(const char* name, passwd* record, char* buffer, std::size_t size, passwd** found) {
  return find_user(record, buffer, size, found,
                   [&](const passwd& one) { return std::string_view(one.pw_name) == name; });
}

int getpwuid_r(uid_t uid, passwd* record, char* buffer, std::size_t size, passwd** found) {
  return find_user(record, buffer, size, found, [&](const passwd& one) { return one.pw_uid == uid; });
}

int getgrnam_r(const char* name, group* record, char* buffer, std::size_t size, group** found) {
  return find_group(record, buffer, size, found,
                    [&](const group& one) { return std::string_view(one.gr_name) == name; });
}

int getgrgid_r(gid_t gid, group* record, char* buffer, std::size_t size, group** found) {
  return find_group(record, buffer, size, found, [&](const group& one) { return one.gr_gid == gid; });
}

passwd* getpwuid(uid_t uid) {
  static passwd record;
  static char buffer[16384];
  passwd* found = nullptr;
  errno = getpwuid_r(uid, &record, buffer, sizeof buffer, &found);
  return found;
}

int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  auto* one = static_cast<OneAddress*>(std::calloc(1, sizeof(OneAddress)));
  if (one == nullptr) return EAI_MEMORY;
  if (host == nullptr || !read_address(host, *one)) {
    std::free(one);
    return EAI_NONAME;
  }
  std::uint16_t port = 0;
  if (service != nullptr) std::from_chars(service, service + std::strlen(service), port);
  reinterpret_cast<sockaddr_in*>(&one->address)->sin_port = htons(port);  // where sin6_port is, too
  one->info.ai_socktype = hints != nullptr ? hints->ai_socktype : 0;
  one->info.ai_protocol = hints != nullptr ? hints->ai_protocol : 0;
  one->info.ai_addr = reinterpret_cast<sockaddr*>(&one->address);
  *found = &one->info;
  return 0;
}

void freeaddrinfo(addrinfo* info) {
  std::free(info);  // the first member of its OneAddress
}

// Libraries name these, and nothing calls them.
hostent* gethostbyname(const char*) {
  return nullptr;
}
protoent* getprotobyname(const char*) {
  return nullptr;
}
protoent* getprotobynumber(int) {
  return nullptr;
}
void* __wrap_dlopen(const char*, int) {  // by ld's --wrap, because libc itself holds on to dlopen()
  return nullptr;
}

}  // extern "C"
