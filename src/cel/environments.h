#pragma once
#include "cel/environment.h"

// The environments in which expressions are compiled: the libraries, variables and types of each
// use.
namespace cardea::cel {

// The standard library, optional types, backtick fields, and every extension in its newest version:
// bindings, encoders, math, strings, sets, lists, two-variable comprehensions.
Environment extended_environment();

// The environment of Kubernetes of the given minor version (1.`minor`) that all uses share, without
// variables.
Environment kubernetes_environment(int minor = 36);

// The same with additions for each use:
Environment admission_environment(bool params = true, bool authorizer = true);  // object,
                                                                                // oldObject,
                                                                                // request,
                                                                                // namespaceObject,
                                                                                // params,
                                                                                // authorizer
Environment mutation_environment(bool params = true);  // and Object{...}, JSONPatch{...}
Environment device_environment();         // device: a device that a resource claim may select
Environment claims_environment();         // claims
Environment user_environment();           // user
Environment access_review_environment();  // request: a SubjectAccessReviewSpec

}  // namespace cardea::cel
