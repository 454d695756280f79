#include "tree/guards/answers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tree/protocol/message_name.h"

namespace rdcp::tree {
namespace {

using enum MessageType;
using Types = std::set<MessageType>;

// A coordinator's words to one agent, and what may come then: once for each of the last words, and any number
// of times.
struct Talk {
  std::vector<MessageType> orders;
  Types each;
  Types many;
};

const Types kSigns{progress, suspend, problem};

const std::vector<Talk> kTalks = {
    {{}, {}, {}},
    {{ping}, {pong}, {}},
    {{paths_named, alterations, beat, suspend, finish, abort}, {}, {}},
    {{source_wishes}, {}, {}},
    {{explain_problems}, {}, {explained_problem}},
    {{explain_problems, find_paths, source_job}, {paths_found, source_ready}, {explained_problem}},
    {{source_job}, {source_ready}, {}},
    {{source_job, knock, begin},
     {source_ready, knocked, done},
     {stream_lost, pair_offered, pair_answered, sums}},
    {{source_job, grow_streams, begin},
     {source_ready, done},
     {use_streams, stream_lost, pair_offered, pair_answered, sums}},
    {{target_job}, {target_ready}, {}},
    {{target_job, knock, begin},
     {target_ready, knocked, done},
     {stream_lost, pair_offered, pair_answered, changes}},
    {{join_chain, target_job, pass_on, begin},
     {target_ready, next_lost, branch_lost, done},
     {stream_lost, pair_offered, pair_answered, changes}},
    {{join_chain, target_job, keep_ledger, begin},
     {target_ready, ledger, done},
     {stream_lost, pair_offered, pair_answered, changes}},
    {{source_job, keep_ledger, begin},
     {source_ready, ledger, done},
     {stream_lost, pair_offered, pair_answered, sums}},
    {{join_chain, source_job, pass_on}, {source_ready}, {}},
    {{examine}, {findings}, {}},
    {{measure_job}, {measure_ready}, {}},
    {{measure_job, begin}, {measure_ready, measured}, {pair_offered, pair_answered}},
    {{examine, measure_job, begin}, {measure_ready, measured}, {pair_offered, pair_answered}},
    {{clean_job}, {}, {leftovers}},
    {{list_job}, {}, {}},
    {{list_job, list_more}, {listed}, {unlisted}},
    {{list_job, list_more, sum_ask}, {listed, sum_told}, {unlisted}},
    {{segment_job}, {segment_end}, {relayed_bytes, beat}},
    {{segment_job, relayed_bytes}, {segment_end}, {relayed_bytes, beat}},
    {{begin, list_more, sum_ask}, {}, {}},  // without the job that they belong to
};

Answers after(const Talk& talk) {
  Answers answers;
  EXPECT_TRUE(answers.take(hello));
  for (const MessageType order : talk.orders) answers.ordered(order);
  return answers;
}

TEST(Answers, EveryMessageInEveryJob) {
  for (const Talk& talk : kTalks) {
    const std::string last = talk.orders.empty() ? "nothing" : name_of(talk.orders.back());
    for (unsigned number = 0; number < 256; ++number) {
      const auto answer = static_cast<MessageType>(number);
      const bool often = talk.many.contains(answer) || kSigns.contains(answer);
      Answers answers = after(talk);
      EXPECT_EQ(answers.take(answer), often || talk.each.contains(answer))
          << name_of(answer) << " after " << last;
      EXPECT_EQ(answers.take(answer), often) << name_of(answer) << " once more after " << last;
    }
  }
}

TEST(Answers, NothingComesBeforeTheHello) {
  for (unsigned number = 0; number < 256; ++number) {
    Answers answers;
    for (const MessageType order : {ping, segment_job, examine}) answers.ordered(order);
    const auto answer = static_cast<MessageType>(number);
    EXPECT_EQ(answers.take(answer), answer == hello) << name_of(answer);
  }
}

TEST(Answers, AreAsManyAsWereAskedFor) {
  Answers answers = after({{list_job}, {}, {}});
  answers.ordered(list_more, 8);
  answers.ordered(list_more, 1);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(answers.take(listed)) << i;
  EXPECT_FALSE(answers.take(listed));
  answers.ordered(list_more, 1);
  EXPECT_TRUE(answers.take(listed));
}

TEST(Answers, AJobThatComesAgainIsAnsweredAgain) {
  Answers answers = after({{source_job, source_job, begin}, {}, {}});
  EXPECT_TRUE(answers.take(source_ready) && answers.take(source_ready));
  EXPECT_FALSE(answers.take(source_ready));
  EXPECT_TRUE(answers.take(done));
  EXPECT_FALSE(answers.take(done));
}

}  // namespace
}  // namespace rdcp::tree
