# Embedded by `.incbin`, which hides it from dependency scanning.
set_source_files_properties(${dir}/rbac/bootstrap_policy.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_BOOTSTRAP_POLICY=\"${dir}/rbac/data/bootstrap_policy.txt\""
  OBJECT_DEPENDS "${dir}/rbac/data/bootstrap_policy.txt")
