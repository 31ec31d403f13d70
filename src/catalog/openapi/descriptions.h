#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "catalog/builtin_types.h"

namespace cardea::catalog::openapi {

// The texts about types and their fields that `kubectl explain` shows. They are written by hand, in
// data/descriptions/:
//
//   # a comment
//   api.core.v1.Taint: A mark that keeps pods away from a node.
//     key: Key of the taint.
//     effect: A long text goes on in lines
//       that are indented by four columns or more.
//     = TYPE            fields without a text here have the text of that type's field
//
// Types are named as in data/types.jsonl. A type may have texts for its fields only.
//
// An index of the types; the texts stay where they are. Immutable.
class Descriptions {
 public:
  explicit Descriptions(std::string_view text);  // must outlive the index
  // Those in the program. The first call makes the index.
  static const Descriptions& embedded();

  // "" if there is no text. Every kind has one, also a list of objects.
  std::string of_type(const BuiltinTypes::Type& type) const;
  // "" if there is no text. The fields that all kinds have need none of their own.
  std::string of_field(const BuiltinTypes::Type& type, std::string_view field) const;

 private:
  struct Entry {
    std::string_view text;    // the first line without the name, and those that continue it
    std::string_view fields;  // the lines after that
  };

  const Entry* find(std::string_view type_name) const;

  std::unordered_map<std::string_view, Entry> types_;
};

// A field that every object has, or, with `is_list`, that every list has; "" for other fields.
std::string_view describe_common_field(std::string_view field, bool is_list);

// data/descriptions/, as the program contains them.
std::string_view description_texts();

}  // namespace cardea::catalog::openapi
