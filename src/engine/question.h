#pragma once
#include <memory>
#include <optional>
#include <string>

#include "authz/attributes.h"
#include "base/result.h"
#include "cardea/engine.h"

namespace cardea::engine {

// A request of the public interface as the authorizers read it. Borrows nothing; neither copied nor
// moved, for its attributes point into it.
class Question {
 public:
  explicit Question(const v1::Request& request);
  Question(const Question&) = delete;

  // What keeps it from being asked; empty: nothing.
  const std::string& problem() const { return problem_; }
  const authz::Attributes& attributes() const { return attributes_; }
  // The same with another verb, which outlives what is given.
  authz::Attributes with_verb(std::string_view verb) const;
  const v1::Request& request() const { return request_; }

 private:
  const v1::Request request_;
  const authz::User user_;
  std::shared_ptr<const authz::Selectors> selectors_;
  std::string problem_;
  authz::Attributes attributes_;
};

}  // namespace cardea::engine
