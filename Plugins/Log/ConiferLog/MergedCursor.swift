@_spi(Stores) import ConiferKeyValue
import ConiferStorage

/// Iterates over the keys of a snapshot in order, with the newest entry of tail and tables for
/// each.
struct MergedCursor {
  /// A place in the tail (when there is no table) or in a table.
  private struct Source {
    let table: Table?
    /// Parts of the table that are left out.
    var lost: [Losses.Loss] = []
    var position: SortedBytes<TailEntry>.Position?
    var block: Block?
    var blockNumber = 0
    var entry = 0

    var isAtEnd: Bool { table == nil ? position == nil : block == nil }
  }

  private let tail: SortedBytes<TailEntry>
  private let ascends: Bool
  private var sources: [Source]
  /// The source of the newest entry at the current key, nil at the end.
  private var winner: Int?

  /// A cursor that must be placed by `seek`.
  ///
  /// - Parameter lost: parts of tables that are skipped; the cursor must then ascend from the first
  ///   key.
  init(_ snapshot: Snapshot, ascends: Bool, leavingOut lost: [Losses.Loss] = []) {
    tail = snapshot.tail
    self.ascends = ascends
    sources =
      [Source(table: nil)]
      + snapshot.tables.map { table in
        Source(table: table, lost: lost.filter { $0.table == table.entry.number })
      }
  }

  var isAtEnd: Bool { winner == nil }

  /// Goes to the first key at or after a stored key (descending: the last at or before it).
  mutating func seek(_ key: Bytes) throws(StoreError) {
    for i in sources.indices { try seek(i, key) }
    choose()
  }

  private mutating func seek(_ i: Int, _ key: Bytes) throws(StoreError) {
    guard let table = sources[i].table else {
      sources[i].position = ascends ? tail.firstAtOrAfter(key) : tail.lastAtOrBefore(key)
      return
    }
    sources[i].block = nil
    if sources[i].lost.contains(where: { $0.block == nil }) { return }
    let index = try table.index()
    guard let number = index.block(of: key) else {
      // Before the first key.
      if ascends, !index.blocks.isEmpty { try enter(i, table, index, 0) }
      return
    }
    if ascends, compareBytes(key, index.last) > 0 { return }
    let block = try table.block(number, index)
    let (at, isFound) = block.search(key)
    sources[i].blockNumber = number
    if ascends, at == block.count { return try enter(i, table, index, number + 1) }
    sources[i].block = block
    // The block begins at or before the key, so an entry before it is in the same block.
    sources[i].entry = ascends || isFound ? at : at - 1
  }

  /// Moves a source to the near end of a block, or to its own end after the last block.
  private mutating func enter(
    _ i: Int, _ table: Table, _ index: Table.Index, _ number: Int
  ) throws(StoreError) {
    var number = number
    while sources[i].lost.contains(where: { $0.block == number }) { number += ascends ? 1 : -1 }
    guard index.blocks.indices.contains(number) else {
      sources[i].block = nil
      return
    }
    let block = try table.block(number, index)
    sources[i].block = block
    sources[i].blockNumber = number
    sources[i].entry = ascends ? 0 : block.count - 1
  }

  /// Goes to the next key in the cursor's direction.
  mutating func next() throws(StoreError) {
    guard let winner else { return }
    for i in sources.indices where i != winner && !sources[i].isAtEnd {
      if order(i, winner) == 0 { try step(i) }
    }
    try step(winner)
    choose()
  }

  private mutating func step(_ i: Int) throws(StoreError) {
    guard let table = sources[i].table else {
      if let position = sources[i].position {
        sources[i].position = ascends ? tail.after(position) : tail.before(position)
      }
      return
    }
    guard let block = sources[i].block else { return }
    let entry = sources[i].entry + (ascends ? 1 : -1)
    if entry >= 0, entry < block.count {
      sources[i].entry = entry
    } else {
      try enter(i, table, try table.index(), sources[i].blockNumber + (ascends ? 1 : -1))
    }
  }

  private mutating func choose() {
    winner = nil
    for i in sources.indices where !sources[i].isAtEnd {
      guard let best = winner else {
        winner = i
        continue
      }
      // Newer sources come first, so an equal key of a later source is ignored.
      let order = order(i, best)
      if ascends ? order < 0 : order > 0 { winner = i }
    }
  }

  private func order(_ a: Int, _ b: Int) -> Int {
    key(a) { left in key(b) { compareBytes(left, $0) } }
  }

  private func key<R, E: Error>(
    _ i: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    if let block = sources[i].block { return try block.key(sources[i].entry, body) }
    let key = sources[i].position.map { tail.entry(at: $0).key } ?? []
    let result = key.withUnsafeBytes { buffer -> Result<R, E> in
      do throws(E) {
        return .success(try body(buffer))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Whether a skipped part of a newer table may have contained the current entry's key.
  func isDoubtful(_ key: UnsafeRawBufferPointer) -> Bool {
    guard let winner else { return false }
    return sources[..<winner].contains { $0.lost.contains { $0.covers(key) } }
  }

  /// Lends the current key and its entry; the cursor must not be at its end.
  func current<R, E: Error>(
    _ body: (UnsafeRawBufferPointer, LentSlot) throws(E) -> R
  ) throws(E) -> R? {
    guard let winner else { return nil }
    return try key(winner) { (key) throws(E) -> R in
      if let block = sources[winner].block {
        return try block.slot(sources[winner].entry) { (slot) throws(E) -> R in
          try body(key, slot)
        }
      }
      guard let position = sources[winner].position else { return try body(key, .gone) }
      switch tail.entry(at: position).value.slot {
      case .gone: return try body(key, .gone)
      case .value(let pointer): return try body(key, .value(pointer))
      case .small(let bytes):
        let result = bytes.withUnsafeBytes { buffer -> Result<R, E> in
          do throws(E) {
            return .success(try body(key, .small(buffer)))
          } catch { return .failure(error) }
        }
        return try result.get()
      }
    }
  }
}
