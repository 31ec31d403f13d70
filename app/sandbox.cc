#include "app/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/strings.h"

namespace cardea::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSystemFolders[] = {"/etc", "/usr", "/lib", "/lib64",  "/proc",
                                               "/sys", "/dev", "/run", "/var/run"};

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriting = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// Later versions of Landlock know these. What is not handled is not restricted.
constexpr std::uint64_t kRefer = 1ull << 13;     // version 2: moving between folders
constexpr std::uint64_t kTruncate = 1ull << 14;  // version 3

// Nothing that a server does. execve: an attacker's first wish.
constexpr std::array kForbiddenCalls = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_userfaultfd,
    SYS_setns,
    SYS_unshare,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_acct,
    SYS_quotactl,
    SYS_personality,
    SYS_open_by_handle_at,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_syslog,
    SYS_io_uring_setup,
};

bool allow(int ruleset, const std::string& path, std::uint64_t what) {
  const int parent = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (parent < 0) return false;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    what &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = what;
  rule.parent_fd = parent;
  const bool ok = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ==
                  0;
  ::close(parent);
  return ok;
}

// The version that took effect, or 0.
long enter_landlock(const SandboxPlan& plan) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                 LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return 0;
  std::uint64_t writing = kWriting;
  if (version >= 2) writing |= kRefer;
  if (version >= 3) writing |= kTruncate;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = LANDLOCK_ACCESS_FS_EXECUTE | kReading | writing;
  const int ruleset = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (ruleset < 0) return 0;
  // Libraries that are loaded late (of the resolver) are mapped to run, which needs reading only.
  for (std::string_view folder : kSystemFolders) allow(ruleset, std::string(folder), kReading);
  for (std::string_view device : {"/dev/null", "/dev/tty"})
    allow(ruleset, std::string(device),
          LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  for (const std::string& path : plan.readable) allow(ruleset, path, kReading);
  bool ok = true;
  for (const std::string& path : plan.writable) ok &= allow(ruleset, path, kReading | writing);
  ok = ok && ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return ok ? version : 0;
}

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

bool enter_seccomp() {
  if (kArchitecture == 0) return false;
  std::vector<sock_filter> filter;
  auto load = [&](std::size_t offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  };
  auto answer = [&](std::uint32_t what) { filter.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  load(offsetof(seccomp_data, arch));
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  answer(SECCOMP_RET_KILL_PROCESS);  // numbers mean something else there
  load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  constexpr std::uint32_t kX32 = 0x40000000;  // the same calls under other numbers
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1));
  answer(SECCOMP_RET_ERRNO | EPERM);
#endif
  for (long call : kForbiddenCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  answer(SECCOMP_RET_ALLOW);
  sock_fprog program{.len = static_cast<unsigned short>(filter.size()), .filter = filter.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A file with its neighbours, because files are replaced by renaming, or a folder.
void add_place(const std::string& text, std::set<std::string>& out) {
  std::error_code error;
  const fs::path path = fs::absolute(text, error).lexically_normal();
  if (error || !fs::exists(path, error)) return;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  if (folder != "/") out.insert(folder.string());
  // Where it is a link, as in the volumes of Kubernetes.
  if (fs::path real = fs::canonical(path, error); !error && real != path)
    out.insert((fs::is_directory(real, error) ? real : real.parent_path()).string());
}

// The files that a file names by absolute paths, and those that these name: a configuration its
// kubeconfigs, a kubeconfig its certificates.
void add_places_in(const std::string& file, std::set<std::string>& out, int depth = 0) {
  constexpr std::size_t kMost = 1u << 20;
  constexpr int kDeepest = 2;
  std::error_code error;
  if (depth > kDeepest || !fs::is_regular_file(file, error) || fs::file_size(file, error) > kMost)
    return;
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t at = text.find('/'); at != text.npos; at = text.find('/', at + 1)) {
    const bool begins = at == 0 || std::string_view(" \t\n\"':,=").contains(text[at - 1]);
    if (!begins) continue;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"',]}", at), text.size());
    add_place(text.substr(at, end - at), out);
    add_places_in(text.substr(at, end - at), out, depth + 1);
    at = end;
    if (at >= text.size()) break;
  }
}

}  // namespace

SandboxPlan sandbox_plan(const std::string& data_dir, const std::string& audit_log_path,
                         const std::vector<std::string>& arguments) {
  std::set<std::string> writable, readable;
  add_place(data_dir, writable);
  if (!audit_log_path.empty() && audit_log_path != "-") {
    const fs::path parent = fs::path(audit_log_path).parent_path();
    add_place(parent.empty() ? "." : parent.string(), writable);
  }
  for (const char* variable : {"SSL_CERT_FILE", "SSL_CERT_DIR"})
    if (const char* place = std::getenv(variable)) add_place(place, readable);
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    std::string values = equals == std::string::npos ? argument : argument.substr(equals + 1);
    std::ranges::replace(values, ':', ',');
    for (std::string_view value : split(values, ',')) {
      if (value.empty()) continue;
      add_place(std::string(value), readable);
      add_places_in(std::string(value), readable);
    }
  }
  return {{writable.begin(), writable.end()}, {readable.begin(), readable.end()}};
}

Result<std::string> enter_sandbox(const SandboxPlan& plan) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return fail(internal_error(cat("no sandbox: ", std::strerror(errno))));
  const long landlock = enter_landlock(plan);
  const bool seccomp = enter_seccomp();
  if (landlock == 0 && !seccomp)
    return fail(internal_error("no sandbox: the kernel has neither Landlock nor seccomp"));
  return cat("sandboxed by ", landlock ? cat("Landlock ", landlock) : std::string(),
             landlock && seccomp ? " and " : "", seccomp ? "seccomp" : "");
}

}  // namespace cardea::app
