#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cardea::app {

// What a server may still do after it has started, should somebody take it over.
struct SandboxPlan {
  std::vector<std::string> writable;  // folders: the data folder, that of the audit log
  std::vector<std::string> readable;  // further folders and files
};

// The plan for a command line: the data folder and the audit log are writable; every file or folder
// that the line names is readable with its neighbours (files are replaced by renaming), and so are
// the files that these name by absolute paths.
SandboxPlan sandbox_plan(const std::string& data_dir, const std::string& audit_log_path,
                         const std::vector<std::string>& arguments);

// Gives up, for this thread and all that it will start:
// - by Landlock: files outside of the plan and of the system's own folders (/etc, /usr, /lib,
// /proc,
//   /sys, /dev, /run), and writing anywhere but in the writable folders;
// - by seccomp: starting programs, tracing, mounting, loading kernel code and other things that a
//   server never does. They fail with EPERM.
//
// Call it before there are other threads. Returns what took effect, in words for the log; an error
// when the kernel has neither.
Result<std::string> enter_sandbox(const SandboxPlan& plan);

}  // namespace cardea::app
