#include <algorithm>
#include <unordered_map>

#include "base/strings.h"
#include "json/print.h"
#include "schema/custom/validate.h"

namespace cardea::schema {
namespace {

using json::FieldErrors;
using json::Member;
using json::Value;

class ListChecker {
 public:
  explicit ListChecker(std::string_view base) : path_(base) {}

  void check(const Schema& s, const Value& v) {
    if (!s.rules) return;
    if (v.is_array()) return check_array(s, v);
    if (!v.is_object()) return;
    std::size_t length = path_.size();
    for (const Member& m : v.members()) {
      if (const Property* p = s.property(m.key())) {
        path_ += path_.empty() ? std::string(m.key()) : cat(".", m.key());
        check(*p->schema, m.value);
      } else if (s.additional) {
        path_ += cat("[", m.key(), "]");
        check(*s.additional, m.value);
      }
      path_.resize(length);
    }
  }

  FieldErrors errors;

 private:
  void check_array(const Schema& s, const Value& v) {
    if (s.list_type == Schema::ListType::kSet) check_set(v);
    if (s.list_type == Schema::ListType::kMap) check_map(s, v);
    if (!s.items) return;
    std::size_t length = path_.size();
    for (std::size_t i = 0; i < v.size(); ++i) {
      path_ += cat("[", i, "]");
      check(*s.items, v[i]);
      path_.resize(length);
    }
  }

  // The second appearance is reported, further ones are not.
  void report_second(std::unordered_map<std::string, int>& seen, std::size_t index,
                     const Value& identity) {
    if (++seen[json::print(identity)] == 2)
      errors.push_back(json::duplicate(cat(path_, "[", index, "]"), identity));
  }

  void check_set(const Value& v) {
    std::unordered_map<std::string, int> seen;
    for (std::size_t i = 0; i < v.size(); ++i) report_second(seen, i, v[i]);
  }

  void check_map(const Schema& s, const Value& v) {
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (v[i].is_object() || v[i].is_null()) continue;
      errors.push_back(json::invalid(cat(path_, "[", i, "]"), v[i],
                                     "must be an object for an array of list-type map"));
      return;
    }
    std::unordered_map<std::string, int> seen;
    for (std::size_t i = 0; i < v.size(); ++i) {
      Value key = Value::object();
      for (const std::string& name : s.map_keys)
        if (const Value* part = v[i].find(name)) key.set(name, *part);
      report_second(seen, i, key);
    }
  }

  std::string path_;
};

}  // namespace

FieldErrors validate_lists(const Schema& schema, const Value& value, std::string_view base) {
  ListChecker checker(base);
  checker.check(schema, value);
  return std::move(checker.errors);
}

}  // namespace cardea::schema
