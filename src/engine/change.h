#pragma once
#include <optional>
#include <string_view>

#include "authz/conditions.h"
#include "base/result.h"
#include "cardea/decision.h"
#include "engine/question.h"
#include "engine/state.h"
#include "json/value.h"
#include "schema/permissions/changed_fields.h"

namespace cardea::engine {

// A change of the public interface, read and found to be one that the request asks about. Borrows
// the question and the state.
class KnownChange {
 public:
  // The error says what is missing or does not fit.
  static Result<KnownChange> read(const State& state, const Question& question,
                                  const v1::Change& change);

  bool is_create() const { return operation_ == "CREATE"; }
  const json::Value& object() const { return object_; }
  const json::Value& old_object() const { return old_object_; }

  // For settling conditions. Borrows this.
  authz::ConditionData data() const;

  // The resource whose fields it changes; null: nothing is known about it.
  const catalog::Resource* resource() const { return resource_; }
  // The fields that the caller changes. The error says why they cannot be determined.
  Result<schema::ChangedFields> changed_fields() const;

 private:
  KnownChange(const State& state, const Question& question)
      : state_(&state), question_(&question) {}

  const State* state_;
  const Question* question_;
  std::string_view operation_;
  json::Value object_, old_object_, options_, namespace_;
  bool dry_run_ = false;
  const catalog::Resource* resource_ = nullptr;
  std::optional<schema::ChangedFields> changed_;
};

}  // namespace cardea::engine
