#include "store/record_index.h"

#include <algorithm>

namespace cardea::store {
namespace {

bool before(const Record& record, std::string_view key, Revision mod_revision) {
  int order = record.key().compare(key);
  return order != 0 ? order < 0 : record.mod_revision < mod_revision;
}

}  // namespace

RecordIndex::Position RecordIndex::lower_bound(std::string_view key, Revision mod_revision) const {
  auto block = std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& candidate) {
    return before(*candidate.back(), key, mod_revision);
  });
  if (block == blocks_.end()) return end();
  auto slot = std::partition_point(block->begin(), block->end(), [&](const RecordPtr& record) {
    return before(*record, key, mod_revision);
  });
  return {static_cast<std::size_t>(block - blocks_.begin()),
          static_cast<std::size_t>(slot - block->begin())};
}

RecordIndex::Position RecordIndex::next(Position p) const {
  ++p.slot;
  return normalized(p);
}

RecordIndex::Position RecordIndex::previous(Position p) const {
  if (p.slot > 0) return {p.block, p.slot - 1};
  return {p.block - 1, blocks_[p.block - 1].size() - 1};
}

RecordIndex::Position RecordIndex::normalized(Position p) const {
  if (p.block < blocks_.size() && p.slot >= blocks_[p.block].size()) return {p.block + 1, 0};
  return p;
}

std::size_t RecordIndex::rank(Position p) const {
  std::size_t count = p.slot;
  for (std::size_t i = 0; i < p.block; ++i) count += blocks_[i].size();
  return count;
}

const RecordPtr* RecordIndex::find(std::string_view key) const {
  Position p = lower_bound(key);
  if (p == end() || at(p)->key() != key) return nullptr;
  return &at(p);
}

void RecordIndex::insert(Position p, RecordPtr record) {
  ++size_;
  if (p == end()) {
    // Keys that only grow fill blocks to the brim instead of leaving halves behind.
    if (blocks_.empty() || blocks_.back().size() >= kBlock) {
      blocks_.emplace_back().reserve(kBlock);
    }
    blocks_.back().push_back(std::move(record));
    return;
  }
  if (blocks_[p.block].size() >= kBlock) {
    Block upper;
    upper.reserve(kBlock);
    Block& lower = blocks_[p.block];
    auto middle = lower.begin() + kBlock / 2;
    upper.assign(std::make_move_iterator(middle), std::make_move_iterator(lower.end()));
    lower.erase(middle, lower.end());
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(p.block) + 1, std::move(upper));
    if (p.slot > kBlock / 2) p = {p.block + 1, p.slot - kBlock / 2};
  }
  Block& block = blocks_[p.block];
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(p.slot), std::move(record));
}

void RecordIndex::erase(Position p) {
  --size_;
  Block& block = blocks_[p.block];
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(p.slot));
  if (block.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(p.block));
    return;
  }
  if (block.size() >= kBlock / 4 || p.block + 1 >= blocks_.size()) return;
  Block& neighbour = blocks_[p.block + 1];
  if (block.size() + neighbour.size() > kBlock / 2) return;
  block.insert(block.end(), std::make_move_iterator(neighbour.begin()),
               std::make_move_iterator(neighbour.end()));
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(p.block) + 1);
}

bool RecordIndex::erase(std::string_view key, Revision mod_revision) {
  Position p = lower_bound(key, mod_revision);
  if (p == end() || at(p)->mod_revision != mod_revision || at(p)->key() != key) return false;
  erase(p);
  return true;
}

void RecordIndex::assign_sorted(std::vector<RecordPtr> records) {
  blocks_.clear();
  size_ = records.size();
  for (std::size_t i = 0; i < records.size(); i += kBlock) {
    Block& block = blocks_.emplace_back();
    block.reserve(kBlock);
    for (std::size_t j = i; j < std::min(i + kBlock, records.size()); ++j) {
      block.push_back(std::move(records[j]));
    }
  }
}

}  // namespace cardea::store
