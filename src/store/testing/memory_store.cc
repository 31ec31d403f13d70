#include "store/testing/memory_store.h"

namespace cardea::store {
namespace {

class NoJournal : public Journal {
 public:
  Result<Remembered> load(Find) override { return Remembered{}; }
  Written write(std::span<const EventPtr>) override { return {Written::Outcome::kDurable, ""}; }
  Written resolve(std::span<const EventPtr>) override { return {Written::Outcome::kDurable, ""}; }
  Tidied tidy(Revision, bool) override { return Tidied::kDone; }
  void mark(Revision, std::int64_t) override {}
  std::vector<Mark> marks() const override { return {}; }
  std::uint64_t file_bytes() const override { return 0; }
  std::string trouble() const override { return ""; }
};

}  // namespace

std::unique_ptr<Store> make_memory_store(const Clock& clock, HistoryOptions history) {
  auto store = LocalStore::open(std::make_unique<NoJournal>(), history, clock);
  CARDEA_CHECK(store.has_value());
  return std::move(*store);
}

}  // namespace cardea::store
