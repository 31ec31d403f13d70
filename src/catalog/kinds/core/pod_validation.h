#pragma once
#include <string>

#include "catalog/kinds/path.h"
#include "catalog/strategy.h"
#include "json/field_error.h"
#include "json/value.h"

namespace cardea::catalog {

// The facts besides the spec itself that the rules of a pod spec depend on.
struct PodRules {
  bool is_pod = false;                    // a Pod, not a template
  bool allow_privileged = false;          // --allow-privileged
  const json::Value* meta = nullptr;      // the Pod's metadata; null for templates
  const json::Value* old_spec = nullptr;  // on update: values that were accepted before stay
                                          // accepted
};

// All functions take objects with defaults, append to `out`, and are pure.
void validate_pod_spec(const json::Value& spec, const Path& path, const PodRules& rules,
                       json::FieldErrors& out);

// {metadata, spec} as workloads hold it, under `path` ("spec.template").
void validate_pod_template(const json::Value& pod_template, const Path& path,
                           const StrategyContext& context, json::FieldErrors& out);

// Annotations that have a meaning in pods and pod templates.
void validate_pod_annotations(const json::Value& annotations, const json::Value& spec,
                              const Path& path, json::FieldErrors& out);

// Warnings to the author of a pod or template that is accepted. `path` is "spec" or
// "spec.template.spec"; `old` is null on create.
void warn_about_pod_spec(const json::Value& spec, const json::Value& meta, const Path& path,
                         const Path& meta_path, std::vector<std::string>& out);
void warn_about_pod_template(const json::Value& pod_template, const Path& path,
                             std::vector<std::string>& out);

}  // namespace cardea::catalog
