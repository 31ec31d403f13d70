# cmake -DSOURCE=... -DTEMPLATE=... -DOUTPUT=... -P build_info.cmake
# Writes OUTPUT from TEMPLATE with the commit that SOURCE is at; touches it only when that changes. The date is
# $SOURCE_DATE_EPOCH, else that of the commit, else today's: the same sources make the same program.
function(git out)
  execute_process(COMMAND git -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE status
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    set(text "")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

git(COMMIT rev-parse HEAD)
git(changes status --porcelain --untracked-files=no)
set(TREE_STATE "")
if(COMMIT AND changes)
  set(TREE_STATE dirty)
elseif(COMMIT)
  set(TREE_STATE clean)
  if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
    git(seconds log -1 --format=%ct)
    set(ENV{SOURCE_DATE_EPOCH} ${seconds})
  endif()
endif()
# TIMESTAMP reads SOURCE_DATE_EPOCH. A changed tree has the date alone: its time would compile it anew with each build.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  string(TIMESTAMP DATE "%Y-%m-%dT%H:%M:%SZ" UTC)
else()
  string(TIMESTAMP DATE "%Y-%m-%dT00:00:00Z" UTC)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
