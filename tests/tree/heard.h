// A reporter, and what it was told.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "tree/protocol/reporter.h"

namespace rdcp::tree {

// Problems as a coordinator would get them.
class Heard {
 public:
  Heard() : reporter([this](const Problem& problem) { take(problem); }) {}
  std::vector<Problem> problems() {
    std::lock_guard lock(mutex_);
    return problems_;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    problems_.clear();
  }
  std::string text() {
    std::string all;
    for (const Problem& problem : problems()) all += problem.text + "\n";
    return all;
  }
  Reporter reporter;

 private:
  void take(const Problem& problem) {
    std::lock_guard lock(mutex_);
    problems_.push_back(problem);
  }
  std::mutex mutex_;
  std::vector<Problem> problems_;
};

}  // namespace rdcp::tree
