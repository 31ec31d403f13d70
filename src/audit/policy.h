#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/request_info.h"
#include "authz/user.h"
#include "base/result.h"
#include "json/field_error.h"

// audit.k8s.io/v1 Policy: which requests make an event, and how much the event contains.
// docs/audit.md explains the file.
namespace cardea::audit {

// How much an event contains: user, request and result; also the object that was sent; also the
// answer.
enum class Level : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };
std::string_view level_name(Level level);  // "RequestResponse"

// When an event is made: the request has arrived, a long answer begins, the request is
// complete.
enum class Stage : std::uint8_t { kRequestReceived, kResponseStarted, kResponseComplete, kPanic };
std::string_view stage_name(Stage stage);  // "ResponseComplete"

class Stages {
 public:
  void add(Stage stage) { bits_ |= bit(stage); }
  bool has(Stage stage) const { return (bits_ & bit(stage)) != 0; }
  Stages operator|(Stages other) const {
    Stages out = *this;
    out.bits_ |= other.bits_;
    return out;
  }

 private:
  static std::uint8_t bit(Stage stage) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(stage));
  }
  std::uint8_t bits_ = 0;
};

// The file as it is written; nothing in it has been validated.
struct PolicyDocument {
  struct Resources {
    std::string group;
    std::vector<std::string> resources, resource_names;
  };
  struct Rule {
    std::string level;
    std::vector<std::string> users, user_groups, verbs, namespaces, non_resource_urls, omit_stages;
    std::vector<Resources> resources;
    std::optional<bool> omit_managed_fields;
  };
  std::vector<Rule> rules;
  std::vector<std::string> omit_stages;
  bool omit_managed_fields = false;
};

// Reads YAML or JSON strictly: unknown and repeated fields are errors, and so are values of another
// type.
Result<PolicyDocument> parse_policy(std::string_view text);
// What is wrong with it, with the paths and words of kube-apiserver.
json::FieldErrors validate(const PolicyDocument& document);

// The policy's decision about one request.
struct Treatment {
  Level level = Level::kNone;
  Stages omitted;
  bool omit_managed_fields = false;
};

// A compiled policy: the first rule that matches a request decides; a request that no rule
// matches is not recorded. Immutable, shared between threads; a decision allocates nothing.
class Policy {
 public:
  explicit Policy(const PolicyDocument& valid);
  // Parsed, valid and with at least one rule; the error names everything that is wrong.
  static Result<Policy> load(std::string_view text);

  // `user` is null for a request whose credentials were refused: rules about users do not match it.
  Treatment treat(const authz::User* user, const authz::RequestInfo& info) const;

 private:
  // Sorted; an empty one does not restrict.
  using Names = std::vector<std::string>;
  struct ResourcePattern {
    std::string resource, subresource;  // `*` for any; no subresource means the resource itself
    bool is_everything = false;         // `*`, which takes subresources in
  };
  struct Resources {
    std::string group;
    std::vector<ResourcePattern> patterns;
    Names names;
    bool is_whole_group = false;
  };
  struct Rule {
    Treatment treatment;
    Names users, user_groups, verbs, namespaces;
    std::vector<Resources> resources;
    std::vector<std::string> urls;
  };
  static Rule compiled(const PolicyDocument::Rule& rule, const PolicyDocument& document);
  static bool matches(const Rule& rule, const authz::User* user, const authz::RequestInfo& info);
  static bool matches(const Resources& resources, const authz::RequestInfo& info);

  std::vector<Rule> rules_;
  Treatment otherwise_;
};

}  // namespace cardea::audit
