#pragma once
#include <array>
#include <boost/container/small_vector.hpp>
#include <memory>
#include <span>

#include "authz/attributes.h"
#include "authz/conditions.h"
#include "cel/authorizer.h"
#include "cel/environment.h"
#include "cel/partial/partial.h"

namespace cardea::authz::access {

// The variables of an access policy's expression.
//
//   request                             known when authorizing
//   operation object oldObject options  known when the object is known; unknown before, for every
//   namespaceObject authorizer          question
//   impersonatedRequest                 for an impersonation check: known when the conditions of
//   the
//                                       check are evaluated, unknown before; null for other
//                                       questions
struct Language {
  enum Slot : std::size_t {
    kRequest,
    kOperation,
    kObject,
    kOldObject,
    kOptions,
    kNamespaceObject,
    kAuthorizer,
    kRequestResource,
    kImpersonatedRequest,
    kSlots
  };

  std::shared_ptr<const cel::Environment> environment;
  cel::Unknowns unknowns;                // of a question that is not an impersonation check
  cel::Unknowns impersonation_unknowns;  // of an impersonation check
  cel::Unknowns unnamed_unknowns;  // of a question without a name, for a denial: `request.name` is
                                   // known with the object
  cel::Unknowns object_unknowns;   // of a residual: everything but `impersonatedRequest`
  std::uint64_t unknown_bits = 0;  // of both, as Node::reads counts slots
};
// Whether the impersonation filter asks this question, or the question has the same form.
bool is_impersonation_check(const Attributes& attributes);
// The only instance; made at the first call.
const Language& language();

// The same without `object` and `oldObject`, to be declared with the types of a resource. For
// checking, not for running.
cel::Environment language_without_objects();

// Values for the slots.
using Variables = std::array<cel::Value, Language::kSlots>;

// `request` of a question, in CEL's form. Stored in place, so that no allocation is needed for
// users with up to kMostInPlace groups; borrows the attributes.
class RequestValue {
 public:
  explicit RequestValue(const Attributes& attributes);
  RequestValue(const RequestValue&) = delete;
  const cel::Value& get() const { return request_; }

 private:
  static constexpr std::size_t kMostInPlace = 32;

  boost::container::small_vector<cel::Value, kMostInPlace> groups_;
  std::vector<std::vector<cel::Value>> extra_lists_;
  std::vector<cel::Value> extra_keys_, extra_values_;
  cel::MapNode extra_, user_, node_;
  std::array<cel::Value, 4> user_values_;
  json::Value fields_, labels_;  // the selectors
  std::array<cel::Value, 11> values_;
  cel::Value request_;
};

// `request` where only its name is still open.
class NameValue {
 public:
  explicit NameValue(std::string_view name);
  NameValue(const NameValue&) = delete;
  const cel::Value& get() const { return request_; }

 private:
  cel::Value name_, request_;
  cel::MapNode node_;
};

// A document in CEL's form; null where there is none. Borrows.
cel::Value json_or_null(const json::Value* document);

// The values that the second phase adds, without `namespaceObject`, `authorizer` and
// `impersonatedRequest`. Borrows `data`.
void bind(Variables& variables, const ConditionData& data);

}  // namespace cardea::authz::access
