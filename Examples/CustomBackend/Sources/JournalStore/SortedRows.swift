import ConiferKeyValue

/// A sorted map of bytes to bytes, in chunks, so that a copy costs little and an insertion moves few
/// rows. Keys carry their space byte in front.
struct SortedRows: Sendable {
  struct Row: Sendable {
    let key: Bytes
    var value: Bytes
    /// What the row takes in a frame, which has the space apart from the key.
    var size: Int { Frame.editSize + key.count - 1 + value.count }
  }

  private static let most = 256
  /// None of them is empty.
  private(set) var chunks: [[Row]] = []
  /// What the rows take in the journal.
  private(set) var bytes = 0

  /// Where the first row at or after a key is, or would be: a chunk and a place in it.
  func place(of key: Bytes) -> (chunk: Int, row: Int) {
    let chunk = chunks.lowerBound { $0.last.map { !bytesPrecede($0.key, key) } ?? true }
    guard chunk < chunks.count else { return (chunk, 0) }
    return (chunk, chunks[chunk].lowerBound { !bytesPrecede($0.key, key) })
  }

  func value(_ key: Bytes) -> Bytes? {
    let (chunk, row) = place(of: key)
    guard chunk < chunks.count, chunks[chunk][row].key == key else { return nil }
    return chunks[chunk][row].value
  }

  mutating func put(_ key: Bytes, _ value: Bytes) {
    let new = Row(key: key, value: value)
    bytes += new.size
    var (chunk, row) = place(of: key)
    if chunk < chunks.count, chunks[chunk][row].key == key {
      bytes -= chunks[chunk][row].size
      chunks[chunk][row] = new
      return
    }
    if chunk == chunks.count {
      if chunks.isEmpty { chunks.append([]) }
      chunk = chunks.count - 1
      row = chunks[chunk].count
    }
    chunks[chunk].insert(new, at: row)
    if chunks[chunk].count > Self.most {
      let half = Self.most / 2
      chunks.insert(Array(chunks[chunk][half...]), at: chunk + 1)
      chunks[chunk].removeSubrange(half...)
    }
  }

  mutating func remove(from: Bytes, to: Bytes) {
    guard bytesPrecede(from, to) else { return }
    let (first, begin) = place(of: from)
    let (last, end) = place(of: to)
    for chunk in (first..<chunks.count).prefix(last - first + 1).reversed() {
      let rows = (chunk == first ? begin : 0)..<(chunk == last ? end : chunks[chunk].count)
      for row in chunks[chunk][rows] { bytes -= row.size }
      chunks[chunk].removeSubrange(rows)
      if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }
  }

  mutating func apply(_ edit: Batch.Edit) {
    switch edit {
    case .put(let space, let key, let value): put([space.id] + key, value)
    case .delete(let space, let key): remove(from: [space.id] + key, to: [space.id] + key + [0])
    case .clear(let space, let from, let to): remove(from: [space.id] + from, to: [space.id] + to)
    }
  }
}

extension Array {
  /// The first index whose element a condition holds for, as it then does for all behind it.
  fileprivate func lowerBound(_ holds: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
