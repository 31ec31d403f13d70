# Embedded by `.incbin`, which hides it from dependency scanning.
set_source_files_properties(${dir}/rbac/bootstrap_policy.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_BOOTSTRAP_POLICY=\"${dir}/rbac/data/bootstrap_policy.txt\""
  OBJECT_DEPENDS "${dir}/rbac/data/bootstrap_policy.txt")
# A million decisions by each of two evaluators: worth optimizing in every build.
set_source_files_properties(${dir}/rbac/agreement_test.cc ${dir}/testing/random_worlds.cc PROPERTIES COMPILE_OPTIONS -O2)
set_source_files_properties(${dir}/fields/agreement_test.cc PROPERTIES COMPILE_OPTIONS -O2)
