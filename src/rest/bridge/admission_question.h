#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authz/attributes.h"
#include "authz/conditions.h"
#include "base/result.h"
#include "json/value.h"

namespace cardea::rest::bridge {

// A request that passed the cluster's authorization, as the AdmissionReview v1 of its
// kube-apiserver tells it: the questions that its authorization may have asked, and the data for
// the conditions of the answers. Keeps what it lends.
class AdmissionQuestion {
 public:
  // Every field that counts has to be there and of its type: a field that reads as empty might make
  // a condition hold.
  static Result<std::unique_ptr<AdmissionQuestion>> read(const json::Value& review);
  AdmissionQuestion(const AdmissionQuestion&) = delete;

  const json::Value& uid() const { return request_["uid"]; }
  std::string_view operation() const { return request_["operation"].as_string(); }
  // The namespace whose object conditions may read; empty: none.
  std::string_view space() const { return is_namespace_ ? "" : namespace_; }
  // The annotation of the object, empty where it has none.
  std::string_view annotation(std::string_view key) const;
  bool is_about(std::string_view group, std::string_view resource) const;

  // One question for each verb that may stand behind the operation. A patch and an update are not
  // told apart, nor are a deletion and that of a collection, nor is a create by name (an apply)
  // from one without.
  std::span<const authz::Attributes> candidates() const { return candidates_; }

  // Why conditions cannot be settled with this review; empty: they can.
  std::string problem_of_data() const;
  // Lends its content, and `space` for the namespace.
  authz::ConditionData data(const authz::ObjectOnDemand& space) const;
  // The same for the object behind a subresource: false where the review does not show it.
  bool describe_parent(authz::ConditionData& data) const;

 private:
  explicit AdmissionQuestion(json::Value request);
  void add(std::string_view verb, std::string_view namespace_name, std::string_view name);

  json::Value request_;
  authz::User user_;
  std::string_view group_, version_, resource_, subresource_, namespace_, name_;
  bool is_namespace_ = false;
  std::shared_ptr<const authz::Selectors> by_name_;
  std::vector<authz::Attributes> candidates_;
};

// What became of one candidate.
enum class Finding : std::uint8_t {
  kAllowed,    // with or without conditions
  kNoOpinion,  // nothing of the bridge: other authorizers of the cluster decided
  kDenied,     // without conditions: the cluster was told so
  kRefused,    // its conditions do not allow what the bridge let through on them
  kForbidden,  // its conditions deny
};

// Whether the request passes. Verbs of one effect stand for each other: who may update may make the
// same change by a patch. A connection has no such verbs: `get` and `create` both count. What one
// of them forbids is forbidden.
bool passes(std::string_view operation, std::span<const Finding> findings);

}  // namespace cardea::rest::bridge
