#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authz/request_info.h"
#include "authz/user.h"
#include "json/value.h"

namespace cardea::rest::fairness {

// What FlowSchemas and PriorityLevelConfigurations say, read from the stored objects. Values.

inline constexpr std::string_view kExempt = "exempt";       // names of the mandatory objects, both
inline constexpr std::string_view kCatchAll = "catch-all";  // of a schema and of a level

// How much of the server a priority level may use, and what happens to requests beyond that.
struct LevelSpec {
  std::string name, uid;
  bool is_exempt = false;
  int shares = 0;                        // of the server's seats, against the other levels
  int lendable_percent = 0;              // of its seats, to others while it does not need them
  std::optional<int> borrowing_percent;  // nullopt: as much as others lend
  std::uint32_t queues = 0;              // 0: requests without a seat are refused
  std::uint32_t hand_size = 0;           // how many queues one flow is spread over
  std::uint32_t queue_length = 0;

  // nullopt: broken. Such a level does not exist: what refers to it is passed over. Only the level
  // `exempt` is exempt.
  static std::optional<LevelSpec> read(const json::Value& object);
};

// The requests that belong to a level. A flow is what one user, or one namespace, asks through it.
class FlowSchema {
 public:
  enum class Distinguisher : std::uint8_t { kNone, kByUser, kByNamespace };

  std::string name, uid, level;
  std::int64_t precedence = 0;
  Distinguisher distinguisher = Distinguisher::kNone;

  static std::optional<FlowSchema> read(const json::Value& object);  // nullopt: broken

  bool matches(const authz::User& user, const authz::RequestInfo& info) const;
  // Which flow of the schema the request belongs to.
  std::string_view flow_of(const authz::User& user, const authz::RequestInfo& info) const;

 private:
  struct Names {
    std::vector<std::string> list;
    bool is_all = false;

    static Names read(const json::Value& list);
    bool has(std::string_view wanted) const;
  };
  struct Subject {
    enum class Kind : std::uint8_t { kUser, kGroup, kAccount, kAccountsOf };
    Kind kind;
    std::string name;  // a user; a group; of accounts their user name, or its beginning
    bool is_all = false;

    bool matches(const authz::User& user) const;
  };
  struct ResourceRule {
    Names verbs, groups, resources, namespaces;
    bool is_for_cluster = false;
  };
  struct PathRule {
    Names verbs;
    std::vector<std::string> paths;
  };
  struct Rule {
    std::vector<Subject> subjects;
    std::vector<ResourceRule> resources;
    std::vector<PathRule> paths;
  };
  static std::optional<Subject> read_subject(const json::Value& subject);

  std::vector<Rule> rules_;
};

// A whole configuration.
struct Rules {
  std::vector<LevelSpec> levels;
  std::vector<FlowSchema> schemas;  // in the order in which they are asked

  // Leaves out what is broken or refers to a level that is not there, adds the mandatory objects
  // that are missing, and orders the schemas.
  static Rules read(const std::vector<json::Value>& levels,
                    const std::vector<json::Value>& schemas);
};

}  // namespace cardea::rest::fairness
