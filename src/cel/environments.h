#pragma once
#include "cel/environment.h"

// The environments expressions are compiled in: which libraries, variables and types each use has.
namespace cardea::cel {

// Standard library, optional types, backtick fields, and every extension in its newest form:
// bindings, encoders, math, strings, sets, lists, two-variable comprehensions.
Environment extended_environment();

// What Kubernetes of the given minor version (1.`minor`) gives every use, without variables.
Environment kubernetes_environment(int minor = 36);

// On top of it, per use:
Environment admission_environment(bool params = true, bool authorizer = true);  // object,
                                                                                // oldObject,
                                                                                // request,
                                                                                // namespaceObject,
                                                                                // params,
                                                                                // authorizer
Environment mutation_environment(bool params = true);  // and Object{...}, JSONPatch{...}
Environment device_environment();         // device: a device that resource claims choose from
Environment claims_environment();         // claims
Environment user_environment();           // user
Environment access_review_environment();  // request: a SubjectAccessReviewSpec

}  // namespace cardea::cel
