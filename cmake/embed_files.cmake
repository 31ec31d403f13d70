# cmake -DFOLDER=... -DOUTPUT=... -P embed_files.cmake
# Writes OUTPUT, a C++ source with the bytes of all files of FOLDER: app/ui_pages.h declares what it defines.
file(GLOB paths LIST_DIRECTORIES false ${FOLDER}/*)
list(SORT paths)
set(rows "")
foreach(path ${paths})
  get_filename_component(name ${path} NAME)
  file(READ ${path} hex HEX)
  file(SHA256 ${path} digest)
  file(SIZE ${path} size)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REGEX REPLACE "([^\n]+)" "     \"\\1\"" hex "${hex}")
  string(APPEND rows "    {\"${name}\", \"${digest}\",\n     {${hex}\"\", ${size}}},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/embed_files.cmake.
#include \"app/ui_pages.h\"

namespace cardea::app {

const std::vector<EmbeddedFile>& ui_files() {
  static const std::vector<EmbeddedFile> kFiles = {
${rows}  };
  return kFiles;
}

}  // namespace cardea::app
")
