#include "engine/change.h"

#include <algorithm>

#include "base/strings.h"
#include "catalog/ignored_fields.h"
#include "schema/custom/prune.h"
#include "schema/wire/decode.h"

namespace cardea::engine {

using json::Value;

namespace {

// The operations that a verb may come to; the first is the usual one.
struct VerbOperations {
  std::string_view verb;
  std::string_view operations[2];
};
constexpr VerbOperations kOperations[] = {
    {"create", {"CREATE", "CONNECT"}},    {"update", {"UPDATE", "CREATE"}},
    {"patch", {"UPDATE", "CREATE"}},      {"delete", {"DELETE", ""}},
    {"deletecollection", {"DELETE", ""}},
};

Result<std::string_view> operation_of(std::string_view verb, std::string_view given) {
  auto at = std::ranges::find(kOperations, verb, &VerbOperations::verb);
  if (at == std::end(kOperations))
    return fail(bad_request(cat("the verb ", quoted(verb), " changes no object")));
  if (given.empty()) return at->operations[0];
  for (std::string_view operation : at->operations)
    if (!operation.empty() && operation == given) return operation;
  return fail(
      bad_request(cat("the verb ", quoted(verb), " cannot have the operation ", quoted(given))));
}

Result<Value> optional_object(std::string_view what, const std::string& text) {
  if (text.empty()) return Value();
  auto value = read_object(text);
  if (!value) return fail(bad_request(cat(what, ": ", value.error().message)));
  return value;
}

Error lacks(std::string_view operation, std::string_view what) {
  return bad_request(cat("the operation ", operation, " needs ", what));
}

Result<void> check_objects(std::string_view operation, const Value& object, const Value& old) {
  const bool has_object = operation == "CREATE" || operation == "UPDATE";
  const bool has_old = operation == "UPDATE" || operation == "DELETE";
  if (has_object && object.is_null()) return fail(lacks(operation, "the object"));
  if (has_old && old.is_null()) return fail(lacks(operation, "the old object"));
  if (operation == "DELETE" && !object.is_null())
    return fail(bad_request("the operation DELETE has no object, only an old one"));
  if (!has_old && !old.is_null())
    return fail(bad_request(cat("the operation ", operation, " has no old object")));
  return {};
}

// An object of another name was not asked about.
Result<void> check_identity(const v1::Request& r, const Value& object) {
  const Value& metadata = object["metadata"];
  auto differs = [](std::string_view asked, std::string_view found) {
    return !asked.empty() && !found.empty() && asked != found;
  };
  if (differs(r.name, metadata["name"].as_string()))
    return fail(bad_request(cat("the request is about ", quoted(r.name), ", not about ",
                                quoted(metadata["name"].as_string()))));
  if (differs(r.namespace_name, metadata["namespace"].as_string()) ||
      (r.namespace_name.empty() && r.subresource.empty() && r.verb != "deletecollection" &&
       !metadata["namespace"].as_string().empty()))
    return fail(bad_request(cat("the request is about the namespace ", quoted(r.namespace_name),
                                ", not about ", quoted(metadata["namespace"].as_string()))));
  std::string wanted = r.group.empty() ? r.version : cat(r.group, "/", r.version);
  if (r.subresource.empty() && differs(wanted, object["apiVersion"].as_string()))
    return fail(bad_request(cat("the request is about objects of ", quoted(wanted), ", not of ",
                                quoted(object["apiVersion"].as_string()))));
  return {};
}

// Whether requests to this resource or subresource bring the object itself.
bool is_of_object(const catalog::Resource& r, std::string_view subresource) {
  if (subresource.empty()) return true;
  const catalog::Subresource* s = r.subresource(subresource);
  return s && s->name != "scale" && (s->kind.empty() || s->kind == r.kind);
}

// The object as a server holds it, so that `1` and `1000m` are the same quantity.
Result<Value> held(const catalog::Catalog& catalog, const catalog::Resource& r,
                   const Value& object) {
  const json::Document document{.value = object};
  const schema::Schema* meta = catalog.type("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  CARDEA_CHECK(meta != nullptr);
  auto decoded = r.is_custom ? schema::decode_custom(*r.schema, *meta, document, "")
                             : schema::decode(*r.schema, document, "");
  if (!decoded) return fail(decoded.error());
  if (!decoded->strict.empty()) return fail(bad_request(schema::strict_error(decoded->strict)));
  return std::move(decoded->value);
}

const Value* present(const Value& value) {
  return value.is_null() ? nullptr : &value;
}

}  // namespace

Result<KnownChange> KnownChange::read(const State& state, const Question& question,
                                      const v1::Change& change) {
  const v1::Request& r = question.request();
  KnownChange out(state, question);
  auto operation = operation_of(r.verb, change.operation);
  if (!operation) return fail(operation.error());
  out.operation_ = *operation;
  out.dry_run_ = change.dry_run;
  struct Part {
    std::string_view what;
    const std::string& text;
    Value& value;
  };
  for (const Part& part : {Part{"object", change.object, out.object_},
                           Part{"old object", change.old_object, out.old_object_},
                           Part{"options", change.options, out.options_},
                           Part{"namespace", change.namespace_object, out.namespace_}}) {
    auto value = optional_object(part.what, part.text);
    if (!value) return fail(value.error());
    part.value = std::move(*value);
  }
  if (auto fine = check_objects(out.operation_, out.object_, out.old_object_); !fine)
    return fail(fine.error());
  for (const Value* object : {&out.object_, &out.old_object_})
    if (auto fine = check_identity(r, *object); !fine) return fail(fine.error());
  out.resource_ = state.catalog->find(r.group, r.version, r.resource);
  if (auto changed = out.changed_fields()) out.changed_.emplace(std::move(*changed));
  return out;
}

authz::ConditionData KnownChange::data() const {
  const v1::Request& r = question_->request();
  const Value& shown = object_.is_null() ? old_object_ : object_;
  return {.operation = operation_,
          .object = present(object_),
          .old_object = present(old_object_),
          .options = present(options_),
          .namespace_object = present(namespace_),
          .dry_run = dry_run_,
          .group = r.group,
          .version = r.version,
          .kind = resource_ && r.subresource.empty() ? std::string_view(resource_->kind)
                                                     : shown["kind"].as_string(),
          .resource = r.resource,
          .subresource = r.subresource,
          .namespace_name = r.namespace_name,
          .name = r.name,
          .user = &question_->attributes().user,
          .changed = changed_ ? &*changed_ : nullptr};
}

Result<schema::ChangedFields> KnownChange::changed_fields() const {
  const v1::Request& r = question_->request();
  if (!resource_)
    return fail(Error::of(
        Reason::kNotFound,
        cat("the fields of ", quoted(r.resource), " of ",
            quoted(r.group.empty() ? r.version : cat(r.group, "/", r.version)), " are not known")));
  const bool is_new = is_create();
  if (object_.is_null() || !is_of_object(*resource_, r.subresource) ||
      (is_new && !r.subresource.empty()))
    return fail(bad_request(cat(quoted(r.verb), " of ", quoted(r.resource),
                                r.subresource.empty() ? "" : "/", r.subresource,
                                " is covered by its verb alone, not field by field")));
  auto after = held(*state_->catalog, *resource_, object_);
  if (!after) return fail(bad_request(cat("object: ", after.error().message)));
  Value before;
  if (!is_new) {
    auto old = held(*state_->catalog, *resource_, old_object_);
    if (!old) return fail(bad_request(cat("old object: ", old.error().message)));
    before = std::move(*old);
  } else if (Value& meta = after->member("metadata");
             !r.name.empty() && !meta.has("generateName") && meta["name"].as_string().empty()) {
    // A name is always part of what is created.
    meta.set("name", r.name);
  }
  const schema::Schema* compared = resource_->permissions->compared();
  return schema::ChangedFields(std::move(before), std::move(*after),
                               compared ? *compared : *resource_->schema,
                               catalog::ignored_fields(*resource_, r.subresource, is_new));
}

}  // namespace cardea::engine
