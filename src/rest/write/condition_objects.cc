#include "rest/write/condition_objects.h"

#include "admission/objects.h"
#include "rest/write/stored_object.h"

namespace cardea::rest {

using admission::Operation;
using admission::Review;
using json::Value;

namespace {

// An Eviction, a Binding, a TokenRequest, a Scale: not of the kind that the request is about.
bool brings_another_kind(const Review& review) {
  if (review.operation == Operation::kConnect) return false;
  if (review.subresource.empty())
    return review.resource.group.empty() && review.resource.name == "bindings";
  const catalog::Subresource* s = review.resource.subresource(review.subresource);
  return s && !s->kind.empty() && s->kind != review.resource.kind;
}

Value with_metadata_of(Value body, const Value& parent) {
  Value meta = parent["metadata"];
  if (meta.is_null()) meta = Value::object();
  meta.erase("managedFields");
  body.set("metadata", std::move(meta));
  return body;
}

// Null when there is none.
Value stored_object(const store::Store& store, const catalog::Resource& resource,
                    std::string_view namespace_name, std::string_view name) {
  store::RecordPtr record = store.get(object_key(resource, namespace_name, name));
  return record ? admission::parsed(*record) : Value();
}

}  // namespace

const Value* NamespaceOnDemand::get() const {
  if (!space_) {
    const catalog::Resource* namespaces = review_.catalog.find("", "v1", "namespaces");
    space_ = review_.namespace_name.empty()
                 ? Value()
                 : stored_object(store_, *namespaces, "", review_.namespace_name);
  }
  return space_->is_null() ? nullptr : &*space_;
}

ConditionObjects objects_for_conditions(const store::Store& store, const Review& review) {
  if (!brings_another_kind(review))
    return {review.object, review.old_object ? *review.old_object : Value()};
  const catalog::Resource& owner = review.subresource.empty()
                                       ? *review.catalog.find("", "v1", "pods")
                                       : review.resource;
  Value parent = stored_object(store, owner, review.namespace_name, review.name);
  Value old = review.old_object ? with_metadata_of(*review.old_object, parent) : parent;
  return {with_metadata_of(review.object, parent), std::move(old)};
}

bool describe_parent(const Review& review, const Settlement::Whole& whole, bool are_stored,
                     authz::ConditionData& out) {
  out.subresource = "";
  if (are_stored) return true;
  if (whole.resource) {
    out.operation = admission::operation_name(whole.operation);
    out.object = whole.object;
    out.old_object = whole.old_object;
    out.group = whole.resource->group;
    out.version = whole.resource->version;
    out.kind = whole.resource->kind;
    out.resource = whole.resource->name;
    out.name = whole.name;
    return true;
  }
  const catalog::Subresource* part = review.resource.subresource(review.subresource);
  return part && review.old_object && (part->kind.empty() || part->kind == review.resource.kind);
}

}  // namespace cardea::rest
