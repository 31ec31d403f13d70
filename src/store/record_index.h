#pragma once
#include <cstddef>
#include <limits>
#include <vector>

#include "store/record.h"

namespace cardea::store {

// Records in the order of (key, mod_revision), in sorted blocks. Finding costs two binary searches,
// inserting moves at most one block of pointers, and counting the records before a position adds up
// block sizes instead of walking records.
//
// A value without locks of its own: its owner guards it. Positions hold until the next
// modification.
class RecordIndex {
 public:
  static constexpr Revision kNewest = std::numeric_limits<Revision>::max();

  struct Position {
    std::size_t block = 0;
    std::size_t slot = 0;
    bool operator==(const Position&) const = default;
  };

  std::size_t size() const { return size_; }
  Position end() const { return {blocks_.size(), 0}; }
  const RecordPtr& at(Position p) const { return blocks_[p.block][p.slot]; }

  // The first record that is not before (key, mod_revision).
  Position lower_bound(std::string_view key, Revision mod_revision = 0) const;
  Position next(Position p) const;
  Position previous(Position p) const;  // `p` must not be the first
  bool is_first(Position p) const { return p.block == 0 && p.slot == 0; }
  std::size_t rank(Position p) const;  // how many records come before it

  // The record of `key`, where keys are unique; null when there is none.
  const RecordPtr* find(std::string_view key) const;

  void insert(RecordPtr record) {
    Position p = lower_bound(record->key(), record->mod_revision);
    insert(p, std::move(record));
  }
  void insert(Position p, RecordPtr record);  // `p` is where lower_bound() says it belongs
  void replace(Position p, RecordPtr record) { blocks_[p.block][p.slot] = std::move(record); }
  void erase(Position p);
  bool erase(std::string_view key, Revision mod_revision);
  void assign_sorted(std::vector<RecordPtr> records);

 private:
  static constexpr std::size_t kBlock = 256;
  using Block = std::vector<RecordPtr>;

  Position normalized(Position p) const;

  std::vector<Block> blocks_;  // INVARIANT: none is empty
  std::size_t size_ = 0;
};

}  // namespace cardea::store
