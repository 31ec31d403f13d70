#pragma once
#include "json/value.h"

namespace cardea::catalog {

// The defaults that the server fills in. All functions are idempotent.

// spec of a Pod or of a pod template.
void default_pod_spec(json::Value& spec);
// {metadata, spec} of a pod template; makes an empty spec when there is none.
void default_pod_template(json::Value& pod_template);
// A whole Pod: the spec, and defaults that only Pods have (requests from limits, service links,
// host ports).
void default_pod(json::Value& pod);
// spec of a PersistentVolumeClaim or of a claim template.
void default_claim_spec(json::Value& spec);

}  // namespace cardea::catalog
