#pragma once
#include <string>

#include "app/kube_client.h"

namespace cardea::app {

// What a command asks about: VERB RESOURCE [NAME], or VERB /PATH.
struct Question {
  std::string verb, resource, name;
  std::string space;  // empty: the context's
  bool all_spaces = false;

  bool is_about_path() const { return resource.starts_with('/'); }
};

void declare_question(CommandLine& line, Question& question);
// What is wrong with it; empty when nothing is.
std::string problem_of(const Question& question);

// The member of a review's spec for this question: `resourceAttributes` or `nonResourceAttributes`,
// and what it holds. A resource that the server does not have is asked about as it was written,
// with a warning: virtual ones, such as `users`, are in rules only.
struct AskedAttributes {
  std::string member;
  json::Value value;
};
Result<AskedAttributes> attributes_of(KubeClient& server, const Question& question);

// The resource attributes for a resource that the server has.
json::Value attributes_of(const KubeClient& server, const Question& question, const Target& target);

}  // namespace cardea::app
