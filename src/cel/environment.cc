#include "cel/environment.h"

#include "cel/cost/cost.h"

namespace cardea::cel {
namespace {

struct MacroRow {
  Library library;
  std::uint32_t set;
};
constexpr MacroRow kMacrosOf[] = {{Library::kStandard, kStandardMacros},
                                  {Library::kOptional, kOptionalMacros},
                                  {Library::kTwoVariables, kTwoVariableMacros},
                                  {Library::kBindings, kBindingMacros},
                                  {Library::kMath, kMathMacros},
                                  {Library::kBlock, kBlockMacros}};

struct TypeName {
  std::string_view name;
  std::string_view type;
};
constexpr TypeName kTypeNames[] = {{"bool", "bool"},
                                   {"int", "int"},
                                   {"uint", "uint"},
                                   {"double", "double"},
                                   {"string", "string"},
                                   {"bytes", "bytes"},
                                   {"null_type", "null"},
                                   {"list", "list(dyn)"},
                                   {"map", "map(dyn, dyn)"},
                                   {"type", "type(dyn)"},
                                   {"google.protobuf.Timestamp", "timestamp"},
                                   {"google.protobuf.Duration", "duration"},
                                   {"optional_type", "optional(dyn)"},
                                   {"net.IP", "net.IP"},
                                   {"net.CIDR", "net.CIDR"},
                                   {"kubernetes.URL", "kubernetes.URL"},
                                   {"kubernetes.Quantity", "kubernetes.Quantity"},
                                   {"kubernetes.Semver", "kubernetes.Semver"},
                                   {"kubernetes.NamedFormat", "kubernetes.NamedFormat"}};

}  // namespace

Environment::Environment() : types_(std::make_shared<TypePool>()) {
  parsing.macros = 0;
  for (const TypeName& row : kTypeNames) named_types_.emplace(row.name, types_->parse(row.type));
}

Environment& Environment::library(Library lib, int version) {
  for (const OverloadRow& row : overloads_of(lib))
    if (row.version <= version) {
      function(row.function, make_overload(*types_, row));
      functions_.find(row.function)->second.standard |= lib == Library::kStandard;
    }
  for (const MacroRow& row : kMacrosOf)
    if (row.library == lib) parsing.macros |= row.set;
  if (lib == Library::kLists && version >= 2) parsing.macros |= kListMacros;
  return *this;
}

Environment& Environment::function(std::string_view name, Overload overload) {
  Function& f = functions_[std::string(name)];
  f.name = name;
  for (Overload& existing : f.overloads)
    if (existing.id == overload.id) {
      existing = std::move(overload);
      return *this;
    }
  f.overloads.push_back(std::move(overload));
  return *this;
}

Environment& Environment::variable(std::string_view name, const Type* type) {
  const auto found = variable_index_.find(name);
  if (found != variable_index_.end()) {
    variables_[found->second].type = type;
    return *this;
  }
  variable_index_.emplace(std::string(name), variables_.size());
  variables_.push_back({std::string(name), type, static_cast<std::uint32_t>(variables_.size())});
  return *this;
}

Environment& Environment::record(ObjectType type) {
  named_types_[type.name] = types_->object(type.name);
  records_[type.name] = std::move(type);
  return *this;
}

Environment& Environment::record(
    std::string_view name, std::vector<std::pair<std::string_view, std::string_view>> fields) {
  ObjectType type;
  type.name = name;
  for (const auto& [field, text] : fields)
    type.fields.emplace(std::string(field), types_->parse(text));
  return record(std::move(type));
}

Environment& Environment::kubernetes_costs() {
  kubernetes_costs_ = true;
  for (auto& [name, f] : functions_)
    for (Overload& overload : f.overloads)
      if (const auto rule = kubernetes_rule(name, overload.id)) overload.cost = *rule;
  return *this;
}

const Function* Environment::find_function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

const Variable* Environment::find_variable(std::string_view name) const {
  const auto found = variable_index_.find(name);
  return found == variable_index_.end() ? nullptr : &variables_[found->second];
}

const ObjectType* Environment::find_record(std::string_view name) const {
  const auto found = records_.find(name);
  return found == records_.end() ? nullptr : &found->second;
}

const Type* Environment::type_named(std::string_view name) const {
  const auto found = named_types_.find(name);
  return found == named_types_.end() ? nullptr : found->second;
}

std::vector<std::string> candidate_names(std::string_view container, std::string_view name) {
  if (name.starts_with('.')) return {std::string(name.substr(1))};
  std::vector<std::string> out;
  while (!container.empty()) {
    out.push_back(cat(container, ".", name));
    const std::size_t dot = container.rfind('.');
    container = dot == std::string_view::npos ? std::string_view() : container.substr(0, dot);
  }
  out.emplace_back(name);
  return out;
}

}  // namespace cardea::cel
