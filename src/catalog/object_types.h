#pragma once
#include <map>
#include <string>

#include "cel/environment.h"
#include "schema/schema.h"

namespace cardea::catalog {

// Declares the types of objects in an environment, from their schemas, each record once. The
// environment must outlive it.
class ObjectTypes {
 public:
  // With `reads_formats`, texts with the format of times and bytes have these types, as in
  // Kubernetes' type checks.
  explicit ObjectTypes(cel::Environment& environment, bool reads_formats = false)
      : environment_(environment), reads_formats_(reads_formats) {}

  // In the form that Environment::variable takes; `dyn` for parts that the schema leaves open.
  std::string type_of(const schema::Schema* schema);

 private:
  cel::Environment& environment_;
  const bool reads_formats_;
  std::map<const schema::Schema*, std::string> names_;
};

}  // namespace cardea::catalog
