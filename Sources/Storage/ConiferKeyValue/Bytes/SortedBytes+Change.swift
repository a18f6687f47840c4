extension SortedBytes {
  @inlinable
  mutating func set(_ key: Bytes, _ value: Value) {
    let place = lowerBound(key)
    if place.found {
      chunks[place.chunk][place.index].value = value
    } else {
      insert(Entry(key: key, value: value), at: place)
      size += 1
    }
  }

  @inlinable
  mutating func insert(_ entry: Entry, at place: Place) {
    guard !chunks.isEmpty else {
      chunks.append([entry])
      return
    }
    let limit = Self.chunkLimit
    var (chunk, index) = (place.chunk, place.index)
    if chunks[chunk].count >= limit {
      if index == limit {
        // An entry after a full chunk goes to the next chunk, so that neither ascending nor
        // descending insertions leave chunks half empty.
        if chunk + 1 == chunks.count || chunks[chunk + 1].count >= limit {
          var fresh: [Entry] = []
          fresh.reserveCapacity(limit)
          chunks.insert(fresh, at: chunk + 1)
        }
        (chunk, index) = (chunk + 1, 0)
      } else {
        let half = limit / 2
        let upper = Array(chunks[chunk][half...])
        chunks[chunk].removeSubrange(half...)
        chunks.insert(upper, at: chunk + 1)
        if index > half { (chunk, index) = (chunk + 1, index - half) }
      }
    }
    chunks[chunk].insert(entry, at: index)
  }

  @inlinable
  mutating func remove(_ key: Bytes) {
    let place = lowerBound(key)
    guard place.found else { return }
    chunks[place.chunk].remove(at: place.index)
    size -= 1
    rebalance(place.chunk)
  }

  /// Removes every key in `from ..< to`; nothing when `to <= from`.
  @inlinable
  public mutating func removeAll(from: Bytes, to: Bytes) {
    guard !isEmpty, compareBytes(from, to) < 0 else { return }
    let low = lowerBound(from)
    let high = lowerBound(to)
    if low.chunk == high.chunk {
      guard low.index < high.index else { return }
      chunks[low.chunk].removeSubrange(low.index..<high.index)
      size -= high.index - low.index
      rebalance(low.chunk)
      return
    }
    for chunk in chunks[(low.chunk + 1)..<high.chunk] { size -= chunk.count }
    size -= chunks[low.chunk].count - low.index + high.index
    chunks[high.chunk].removeSubrange(..<high.index)
    chunks[low.chunk].removeSubrange(low.index...)
    chunks.removeSubrange((low.chunk + 1)..<high.chunk)
    rebalance(low.chunk + 1)
    rebalance(low.chunk)
  }

  /// Drops a chunk that became empty, and joins one that became small with a neighbour.
  @inlinable
  mutating func rebalance(_ chunk: Int) {
    guard chunk < chunks.count else { return }
    let size = chunks[chunk].count
    if size == 0 {
      chunks.remove(at: chunk)
      return
    }
    guard size < Self.chunkLimit / 4 else { return }
    let room = Self.chunkLimit * 3 / 4 - size
    if chunk + 1 < chunks.count, chunks[chunk + 1].count <= room {
      chunks[chunk].append(contentsOf: chunks[chunk + 1])
      chunks.remove(at: chunk + 1)
    } else if chunk > 0, chunks[chunk - 1].count <= room {
      chunks[chunk - 1].append(contentsOf: chunks[chunk])
      chunks.remove(at: chunk)
    }
  }
}
