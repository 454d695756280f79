#include "net/rails/rails.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "tests/net/rails/made_up_port.h"

namespace rdcp::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using State = RailPlan::State;

constexpr std::uint32_t kGigabit = 1000;

// A host as a DGX H100 is: eight ports of 400 Gb/s for the GPUs, two of 200 Gb/s for storage, and a slow one
// for everything else. address_of: of a rail, with its prefix.
struct Facts {
  RdmaPorts ports;
  Facts(const std::string& name, const std::function<std::string(int)>& address_of) {
    for (int rail = 0; rail < 8; ++rail) {
      ports.usable.push_back(port_of(fmt::format("{}{}", name, rail), address_of(rail), 31, 400 * kGigabit));
    }
  }
  Facts& with(const std::string& device, const std::string& host, std::uint32_t gigabits) {
    ports.usable.push_back(port_of(device, host, 24, gigabits * kGigabit));
    return *this;
  }
};

std::vector<Rail> candidates(const Facts& connecting, const Facts& listening) {
  return choose_rails(connecting.ports, listening.ports, {}).candidates;
}

std::string name_of(const Rail& rail) {
  return rail.connecting.device + "-" + rail.listening.device;
}

std::vector<std::string> names_of(const std::vector<Rail>& rails) {
  std::vector<std::string> names;
  for (const Rail& rail : rails) names.push_back(name_of(rail));
  return names;
}

const std::vector<std::string> kStraight = {"a0-b0", "a1-b1", "a2-b2", "a3-b3",
                                            "a4-b4", "a5-b5", "a6-b6", "a7-b7"};

// What a fabric joins.
using Joins = std::function<bool(const Rail&)>;

// Connects as many streams as rdcp would, in rounds: in each, what the fabric joins works, and the rest has
// not answered. Says how many streams went over each rail, and how many rounds it took.
struct Dialling {
  std::map<std::string, int> streams;
  int rounds = 0;
};

class Dialler {
 public:
  Dialler(const std::vector<Rail>& candidates, Joins joins, int streams)
      : plan_(candidates), joins_(std::move(joins)), waiting_(streams) {}

  Dialling dial() {
    while ((waiting_ > 0 || !silent_.empty()) && !plan_.all_failed() && result_.rounds < 100) {
      std::vector<std::size_t> dialled = take_others();
      for (std::optional<std::size_t> rail; waiting_ > 0 && (rail = plan_.next()); --waiting_) {
        plan_.add_stream(*rail);
        dialled.push_back(*rail);
      }
      ++result_.rounds;
      for (const std::size_t rail : dialled) answer(rail);
    }
    return result_;
  }

 private:
  static constexpr int kRoundsOfSilence = 5;
  struct Silent {
    std::size_t rail;
    int rounds = 0;
  };

  // Returns the pairs that are tried in the place of silent ones.
  std::vector<std::size_t> take_others() {
    std::vector<std::size_t> dialled;
    for (Silent& silent : std::exchange(silent_, {})) {
      const auto other = plan_.instead_of(silent.rail);
      if (!other && ++silent.rounds < kRoundsOfSilence) {
        silent_.push_back(silent);
        continue;
      }
      plan_.remove_stream(silent.rail);
      plan_.set_lost(silent.rail, "does not answer");
      if (other) {
        plan_.add_stream(*other);
        dialled.push_back(*other);
      } else {
        ++waiting_;
      }
    }
    return dialled;
  }
  void answer(std::size_t rail) {
    if (joins_(plan_.candidates()[rail])) {
      plan_.set_works(rail);
      ++result_.streams[name_of(plan_.candidates()[rail])];
    } else {
      plan_.set_slow(rail);
      silent_.push_back({rail});
    }
  }

  RailPlan plan_;
  Joins joins_;
  int waiting_;
  std::vector<Silent> silent_;
  Dialling result_;
};

Dialling dial(const std::vector<Rail>& candidates, const Joins& joins, int streams) {
  return Dialler(candidates, joins, streams).dial();
}

bool same_rail(const Rail& rail) {
  return rail.connecting.device.back() == rail.listening.device.back();
}

TEST(RailPlan, EightRailsOfADgxInPairsOfAddresses) {
  const auto by_rail = [](int host) {
    return [host](int rail) { return fmt::format("10.0.{}.{}", rail, 2 * host); };
  };
  EXPECT_EQ(names_of(best_rails(candidates(Facts("a", by_rail(1)), Facts("b", by_rail(7))))), kStraight);
  const auto by_host = [](int host) {
    return [host](int rail) { return fmt::format("10.{}.0.{}", host, 2 * rail); };
  };
  EXPECT_EQ(names_of(best_rails(candidates(Facts("a", by_host(1)), Facts("b", by_host(7))))), kStraight);
}

TEST(RailPlan, AddressesSayWhichRailWhereNamesDoNot) {
  // The kernel has found the listening host's devices in another order.
  const auto here = [](int rail) { return fmt::format("10.0.{}.2", rail); };
  const auto shifted = [](int rail) { return fmt::format("10.0.{}.4", (rail + 3) % 8); };
  const std::vector<std::string> expected = {"a0-b5", "a1-b6", "a2-b7", "a3-b0",
                                             "a4-b1", "a5-b2", "a6-b3", "a7-b4"};
  EXPECT_THAT(names_of(best_rails(candidates(Facts("a", here), Facts("b", shifted)))),
              testing::UnorderedElementsAreArray(expected));
  // The same where the host comes first in an address, and the rail later.
  const auto here_by_host = [](int rail) { return fmt::format("10.1.{}.1", rail); };
  const auto shifted_by_host = [](int rail) { return fmt::format("10.2.{}.1", (rail + 3) % 8); };
  EXPECT_THAT(names_of(best_rails(candidates(Facts("a", here_by_host), Facts("b", shifted_by_host)))),
              testing::UnorderedElementsAreArray(expected));
}

Facts dgx(const std::string& name, int host) {
  Facts facts(name, [host](int rail) { return fmt::format("10.0.{}.{}", rail, 2 * host); });
  facts.with(name + "s0", fmt::format("172.16.0.{}", host), 200);
  facts.with(name + "s1", fmt::format("172.16.1.{}", host), 200);
  return facts.with(name + "m", fmt::format("192.168.0.{}", host), 25);
}

TEST(RailPlan, ASlowPortInACommonSubnetHidesNoRails) {
  std::vector<std::string> expected = kStraight;
  expected.insert(expected.end(), {"as0-bs0", "as1-bs1"});  // half as fast; the slowest is left out
  EXPECT_EQ(names_of(best_rails(candidates(dgx("a", 1), dgx("b", 2)))), expected);
}

TEST(RailPlan, StreamsAreSpreadByMegabits) {
  const auto streams = dial(candidates(dgx("a", 1), dgx("b", 2)), same_rail, 36).streams;
  EXPECT_EQ(streams.size(), 10u);
  EXPECT_EQ(streams.at("a0-b0"), 4);
  EXPECT_EQ(streams.at("a7-b7"), 4);
  EXPECT_EQ(streams.at("as0-bs0"), 2);
  EXPECT_EQ(streams.at("as1-bs1"), 2);
}

TEST(RailPlan, FewStreamsGoOverTheFastest) {
  EXPECT_THAT(dial(candidates(dgx("a", 1), dgx("b", 2)), same_rail, 2).streams,
              UnorderedElementsAre(std::pair("a0-b0", 1), std::pair("a1-b1", 1)));
}

TEST(RailPlan, SpeedsThatNobodyKnowsAreEqual) {
  std::vector<Rail> rails;
  for (const char* n : {"0", "1"}) {
    const std::string number = n;
    rails.push_back({port_of("a" + number, "10.0." + number + ".1", 24, 0),
                     port_of("b" + number, "10.0." + number + ".2", 24, 0)});
  }
  EXPECT_THAT(dial(rails, same_rail, 6).streams,
              UnorderedElementsAre(std::pair("a0-b0", 3), std::pair("a1-b1", 3)));
}

// On a rail-only fabric a port reaches the ports of its own switch. Here nothing says which those are: one
// prefix, and the listening host's ports are in another order.
TEST(RailPlan, ARailOnlyFabricIsFoundByTrying) {
  const auto flat = [](int first) {
    return [first](int rail) { return fmt::format("10.0.0.{}", first + rail); };
  };
  for (int shift = 0; shift < 8; ++shift) {
    const auto by_switch = [shift](const Rail& rail) {
      return (rail.connecting.device.back() - '0' + shift) % 8 == rail.listening.device.back() - '0';
    };
    const Dialling dialled = dial(candidates(Facts("a", flat(0)), Facts("b", flat(128))), by_switch, 8);
    EXPECT_EQ(dialled.streams.size(), 8u) << shift;
    EXPECT_LE(dialled.rounds, 8) << shift;
  }
}

TEST(RailPlan, APortWhosePairFailsTakesAnotherOfItsOwn) {
  Facts here("a", [](int rail) { return fmt::format("10.0.{}.2", rail); });
  Facts there("b", [](int rail) { return fmt::format("10.0.{}.4", rail); });
  for (Facts* facts : {&here, &there}) {
    facts->ports.usable.resize(2);
    for (RdmaPort& each : facts->ports.usable) each.prefix_bits = 24;
  }
  here.ports.usable.push_back(port_of("a0", "fd00::2", 64, 400 * kGigabit));
  there.ports.usable.push_back(port_of("b0", "fd00::4", 64, 400 * kGigabit));
  RailPlan plan(candidates(here, there));
  ASSERT_THAT(plan.rails(), SizeIs(2));
  const std::size_t first = plan.rails()[0], second = plan.rails()[1];
  EXPECT_EQ(name_of(plan.candidates()[first]), "a0-b0");
  plan.add_stream(first);
  plan.add_stream(second);
  plan.set_works(second);
  plan.set_slow(first);
  const auto instead = plan.instead_of(first);
  ASSERT_TRUE(instead);
  EXPECT_EQ(plan.candidates()[*instead].connecting.host, "fd00::2");
  EXPECT_EQ(name_of(plan.candidates()[*instead]), "a0-b0");
  // Later it answers all the same: it counts if its ports are still free.
  plan.set_works(first);
  EXPECT_THAT(plan.rails(), UnorderedElementsAre(first, second));
}

TEST(RailPlan, SlowerPairsWaitUntilNoneOfTheOthersHasAnswered) {
  const auto only_slow = [](const Rail& rail) { return rail.connecting.device == "am"; };
  const std::vector<Rail> all = candidates(dgx("a", 1), dgx("b", 2));
  RailPlan plan(all);
  const auto devices = [&plan] {
    std::vector<std::string> names;
    for (const std::size_t rail : plan.rails()) names.push_back(name_of(plan.candidates()[rail]));
    return names;
  };
  EXPECT_THAT(devices(), Not(testing::Contains("am-bm")));
  plan.take_slower_ones();
  EXPECT_THAT(devices(), testing::Contains("am-bm"));
  // Once all faster ones are lost it is taken without a word.
  EXPECT_THAT(dial(all, only_slow, 3).streams, UnorderedElementsAre(std::pair("am-bm", 3)));
}

TEST(RailPlan, WithoutAnyPathAllAreLost) {
  const auto none = [](const Rail&) { return false; };
  const std::vector<Rail> all = candidates(dgx("a", 1), dgx("b", 2));
  const Dialling dialled = dial(all, none, 8);
  EXPECT_TRUE(dialled.streams.empty());
  EXPECT_LT(dialled.rounds, 100);
}

TEST(RailPlan, OneThatIsStillConnectedIsWaitedForBeforeItIsUsedAgain) {
  RailPlan plan(candidates(dgx("a", 1), dgx("b", 2)));
  for (int i = 0; i < 10; ++i) plan.add_stream(plan.next().value());
  EXPECT_FALSE(plan.next());
  const std::size_t first = plan.rails()[0];
  plan.set_works(first);
  EXPECT_EQ(plan.next(), first);
  plan.add_stream(first);
  EXPECT_FALSE(plan.next());  // it has two streams now, and others that are as fast may yet work
  for (const std::size_t rail : plan.rails()) plan.set_works(rail);
  EXPECT_NE(plan.next(), first);
}

TEST(RailPlan, AWorkingRailThatTakesNoFurtherStreamIsLost) {
  RailPlan plan(candidates(dgx("a", 1), dgx("b", 2)));
  const std::size_t first = plan.next().value();
  plan.add_stream(first);
  plan.set_works(first);
  plan.set_lost(first, "refused");
  plan.set_lost(first, "refused again");
  EXPECT_EQ(plan.cause(first), "refused");
  EXPECT_NE(plan.next(), first);
}

TEST(RailPlan, WhatAPeerMakesUpHasAnEnd) {
  Facts here("a", [](int rail) { return fmt::format("10.0.{}.2", rail); });
  Facts there("b", [](int rail) { return fmt::format("10.0.{}.4", rail); });
  for (int i = 0; i < 10'000; ++i) {
    there.ports.usable.push_back(port_of(fmt::format("x{}", i), "10.9.9.9", 24, 4'000'000'000u));
  }
  const std::vector<Rail> all = candidates(here, there);
  EXPECT_LE(all.size(), kCandidatesMax);
  EXPECT_LE(best_rails(all).size(), 8u);
}

}  // namespace
}  // namespace rdcp::net
