# The data files are embedded by `.incbin`, which hides them from dependency scanning.
set_source_files_properties(${dir}/data.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_CATALOG_DATA=\"${dir}/data\""
  OBJECT_DEPENDS "${dir}/data/types.jsonl;${dir}/data/resources.jsonl;${dir}/data/own_types.jsonl;${dir}/data/own_resources.jsonl")
file(GLOB descriptions CONFIGURE_DEPENDS ${dir}/data/descriptions/*.txt)
set_source_files_properties(${dir}/openapi/description_texts.cc PROPERTIES
  COMPILE_DEFINITIONS "CARDEA_CATALOG_DATA=\"${dir}/data\"" OBJECT_DEPENDS "${descriptions}")
