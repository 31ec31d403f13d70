#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/kinds/names.h"
#include "catalog/kinds/path.h"
#include "json/field_error.h"

namespace cardea::catalog {

// The small checks most kinds are made of. Each appends what is wrong to `out`, in Kubernetes'
// words. A missing value counts as the zero of its type, as it does in Kubernetes' own types.

using json::FieldErrors;
using json::Value;

// One `Invalid value` for each complaint.
void complain(const Path& path, const Value& value, const Complaints& complaints, FieldErrors& out);

void check_not_negative(const Path& path, const Value& number, FieldErrors& out);
void check_one_of(const Path& path, const Value& text, const std::vector<std::string>& allowed,
                  FieldErrors& out);
// Nothing when the text is there and not empty.
bool check_required(const Path& path, const Value& text, FieldErrors& out);
void check_immutable(const Path& path, const Value& value, const Value& old, FieldErrors& out);
// An integer or a percentage.
void check_int_or_percent(const Path& path, const Value& value, FieldErrors& out);
void check_not_above_100_percent(const Path& path, const Value& value, FieldErrors& out);
// `example.com/some/path`: how controllers and finalizers name themselves.
void validate_domain_prefixed_path(const Path& path, const Value& text, FieldErrors& out);
// metav1.Condition.
void check_conditions(const Path& path, const Value& conditions, FieldErrors& out);

// Equal as Kubernetes' API compares: what is missing equals what is empty.
bool semantically_equal(const Value& a, const Value& b);
bool is_zero(const Value& value);  // null, false, 0, "", [] or {} of such

// Some messages show a value as Kubernetes' own types hold it: members in their order, under their
// names there. `Shown` is such a text.
using Shown = std::string;
Shown shown(const Value& value);
Shown shown_or(const Value& value, const Value& absent);  // `absent` when the value is null
Shown shown_struct(std::initializer_list<std::pair<std::string_view, Shown>> members);
// Members of `value` in the given order; of those that are missing, none.
Shown shown_in_order(const Value& value, std::initializer_list<std::string_view> names);
Shown shown_selector(const Value& label_selector);
json::FieldError invalid_shown(const Path& path, const Shown& value, std::string_view detail);
json::FieldError not_supported_shown(const Path& path, const Shown& value,
                                     const std::vector<std::string>& supported);
json::FieldError duplicate_shown(const Path& path, const Shown& value);

std::vector<std::string> strings(const Value& list);

// Sets a member that is missing or null.
void set_default(Value& object, std::string_view key, const Value& value);
// Sets a member that is missing, null or empty text.
void set_default_text(Value& object, std::string_view key, std::string_view text);
// The member, made an object where it is missing or null.
Value& object_member(Value& object, std::string_view key);

// Hooks that many kinds share: the status is the server's on create, and stays as it was on update.
void drop_status(Value& object, const StrategyContext&);
void keep_status(Value& object, const Value& old, const StrategyContext&);
// On the status subresource everything but the status stays as it was.
void keep_spec(Value& object, const Value& old, const StrategyContext&);

}  // namespace cardea::catalog
