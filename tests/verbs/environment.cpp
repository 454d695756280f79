// The devices that are there from the start, and how they behave, by environment variables:
//
//   RDCP_VERBS_DEVICES  NAME=MODEL[@INTERFACE/ADDRESS]..., separated by commas
//   RDCP_VERBS_CONDUCT  latency_us=N, retry_ms=N, not_ready_ms=N, lockable_kib=N, drops_above=N, no_cm=1,
//   at=N:FAULT[:STATUS], separated
//                       by commas; FAULT happens with the Nth request that is posted
//
// Files that stand for sysfs are made in TMPDIR; a program that is killed leaves them there.
//
// Models: connectx7, connectx8, bnxt_re, irdma, efa, iwarp. Faults: completion (with an ibv_wc_status), poll,
// port_down, port_up, fatal, addr_change, silent. With neither variable there are two ports of ConnectX-7.
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "tests/verbs/fabric.h"

namespace rdcp::made_up {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, by);) words.push_back(word);
  return words;
}

[[noreturn]] void refuse(const std::string& word) {
  std::fprintf(stderr, "made-up verbs: what is \"%s\"?\n", word.c_str());
  std::abort();
}

template <class Value>
Value named(const std::map<std::string, Value>& names, const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end()) refuse(name);
  return found->second;
}

Model model_of(const std::string& name) {
  return named<Model>({{"connectx7", Model::connectx7},
                       {"connectx8", Model::connectx8},
                       {"bnxt_re", Model::bnxt_re},
                       {"irdma", Model::irdma},
                       {"efa", Model::efa},
                       {"iwarp", Model::iwarp}},
                      name);
}

Device device_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, '@');
  const std::vector<std::string> head = split(parts.at(0), '=');
  if (head.size() != 2) refuse(text);
  Device device = make_device(model_of(head[1]), head[0]);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::vector<std::string> place = split(parts[i], '/');
    if (place.size() != 2) refuse(parts[i]);
    device = with_address(std::move(device), place[0], place[1]);
  }
  return device;
}

Fault fault_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2) refuse(text);
  Fault fault;
  fault.at_request = std::strtoull(parts[0].c_str(), nullptr, 10);
  fault.kind = named<Fault::Kind>({{"completion", Fault::Kind::completion},
                                   {"poll", Fault::Kind::poll},
                                   {"port_down", Fault::Kind::port_down},
                                   {"port_up", Fault::Kind::port_up},
                                   {"fatal", Fault::Kind::fatal},
                                   {"addr_change", Fault::Kind::addr_change},
                                   {"silent", Fault::Kind::silent}},
                                  parts[1]);
  if (parts.size() > 2) fault.status = static_cast<ibv_wc_status>(std::atoi(parts[2].c_str()));
  return fault;
}

Conduct conduct_of(const std::string& text) {
  Conduct conduct;
  for (const std::string& word : split(text, ',')) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) refuse(word);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "latency_us") {
      conduct.latency = std::chrono::microseconds(number);
    } else if (name == "retry_ms") {
      conduct.retry_time = std::chrono::milliseconds(number);
    } else if (name == "not_ready_ms") {
      conduct.not_ready_time = std::chrono::milliseconds(number);
    } else if (name == "lockable_kib") {
      conduct.lockable_bytes = number << 10;
    } else if (name == "drops_above") {
      conduct.drops_above = number;
    } else if (name == "no_cm") {
      conduct.no_cm = number != 0;
    } else if (name == "at") {
      conduct.faults.push_back(fault_of(value));
    } else {
      refuse(word);
    }
  }
  return conduct;
}

const char* variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

[[gnu::constructor]] void begin() {
  set_devices_of_environment();
}

}  // namespace

void set_devices_of_environment() {
  constexpr const char* kTwoRails =
      "mlx5_0=connectx7@rail0/10.77.0.1@rail0/fd77::1,mlx5_1=connectx7@rail1/10.78.0.1@rail1/fd78::1";
  std::vector<Device> devices;
  for (const std::string& text : split(variable("RDCP_VERBS_DEVICES", kTwoRails), ',')) {
    devices.push_back(device_of(text));
  }
  fabric().set_devices(std::move(devices));
  fabric().conduct(conduct_of(variable("RDCP_VERBS_CONDUCT", "")));
}

}  // namespace rdcp::made_up
