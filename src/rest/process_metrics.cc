#include "rest/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace cardea::rest {
namespace {

std::string read_all(const char* path) {
  std::string out;
  std::FILE* file = std::fopen(path, "re");
  if (!file) return out;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) out.append(block, n);
  std::fclose(file);
  return out;
}

// The numbers of /proc/self/stat from its third field on; the second, a name, may hold blanks.
std::vector<double> own_numbers() {
  const std::string stat = read_all("/proc/self/stat");
  std::vector<double> out;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return out;
  const char* at = stat.c_str() + name_end + 4;  // after the state, a letter
  for (char* end; *at != 0; at = end) {
    out.push_back(std::strtod(at, &end));
    if (end == at) break;
  }
  return out;
}

double seconds_at_boot() {
  const std::string stat = read_all("/proc/stat");
  const std::size_t at = stat.find("btime ");
  return at == std::string::npos ? 0 : std::strtod(stat.c_str() + at + 6, nullptr);
}

double open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return 0;
  double count = -3;  // the folder itself, . and ..
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

void print_process(MetricPrinter& out) {
  // Places in /proc/self/stat, from its fourth field on.
  enum : std::size_t { kUserTime = 10, kSystemTime = 11, kStart = 18, kVirtual = 19, kPages = 20 };
  const std::vector<double> numbers = own_numbers();
  auto print = [&](std::string_view name, std::string_view help, MetricType type, double value) {
    out.begin({name, help}, type);
    out.add_number("", value);
  };
  if (numbers.size() > kPages) {
    const double tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const double page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    print("process_cpu_seconds_total", "Processor time, of programs and system.",
          MetricType::kCounter, (numbers[kUserTime] + numbers[kSystemTime]) / tick);
    print("process_resident_memory_bytes", "Memory that is in use.", MetricType::kGauge,
          numbers[kPages] * page);
    print("process_start_time_seconds", "When the process began, since 1970.", MetricType::kGauge,
          seconds_at_boot() + numbers[kStart] / tick);
    print("process_virtual_memory_bytes", "Addresses that are in use.", MetricType::kGauge,
          numbers[kVirtual]);
  }
  print("process_open_fds", "Open descriptors.", MetricType::kGauge, open_descriptors());
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    print("process_max_fds", "How many descriptors may be open.", MetricType::kGauge,
          static_cast<double>(limit.rlim_cur));
}

}  // namespace cardea::rest
