import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Describes a record in words: by path, number and name, as far as its key contains them.
enum RecordName {
  /// The place of a record.
  ///
  /// - Parameter order: of its tree; nil when that is not known.
  static func words(_ space: Space, _ key: Bytes, _ order: KeyOrder?) -> String {
    let rest = key.dropFirst(4)
    let hex = "space \(space.id), key \(Damage.hex(key))"
    if space == Spaces.runs, key.count == 4, order != nil { return "the beginning" }
    guard let order, key.count > 4 else {
      if space == Spaces.usage, key == StoreCommit.key { return "the newest commit's number" }
      if space == Spaces.usage, key == StoreState.signKey {
        return "the sign of commits without a number"
      }
      return space == Spaces.usage && key.count == 4 ? "the counts" : hex
    }
    switch space {
    case Spaces.runs: return "\(path(rest, order)) and after"
    case Spaces.deltas: return "a delta of run \(number(rest))"
    case Spaces.chunks: return "a chunk of large leaf \(Damage.hex(Bytes(rest.prefix(8))))"
    case Spaces.dictionaries: return "dictionary \(DictionaryRecord.number(key))"
    case Spaces.queries:
      return key.count == 12 ? "tracked query \(number(rest))" : "the last number of a query"
    case Spaces.queryKeys:
      let kind = order == .documents ? "match" : "key"
      return "\(kind) \(path(rest.dropFirst(8), order)) of tracked query \(number(rest))"
    case Spaces.queryIndex: return "the index of queries at \(path(rest.dropLast(9), order))"
    case Spaces.pins: return "the pin at \(path(rest.dropLast(9), order))"
    case Spaces.indexes:
      let number = IndexSet.number(key) ?? 0
      return number == 0 ? "the declared indexes" : "an entry of index \(number)"
    case Spaces.collections: return "the collection \(path(rest, order))"
    case Spaces.changes: return "a row of what was read since queries were whole, \(hex)"
    case Spaces.metadata: return "metadata \"\(String(decoding: rest, as: UTF8.self))\""
    case Spaces.queue, Spaces.queueParts, Spaces.queueIndex, Spaces.finished,
      Spaces.overlays, Spaces.earlierOverlays:
      return lane(space, rest, order) ?? hex
    default: return hex
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    StoreKey.number(atEndOf: Bytes(bytes.prefix(8)))
  }

  private static func lane(
    _ space: Space, _ rest: ArraySlice<UInt8>, _ order: KeyOrder
  ) -> String? {
    guard let end = rest.firstIndex(of: 0) else { return nil }
    let name = "\"\(String(decoding: rest[..<end], as: UTF8.self))\""
    let own = rest[(end + 1)...]
    switch space {
    case Spaces.queue:
      return own.count == 9
        ? "write \(number(own.dropFirst())) of \(name)" : "the totals of \(name)"
    case Spaces.queueParts: return "a part of write \(number(own)) of \(name)"
    case Spaces.finished: return "finished write \(number(own)) of \(name)"
    case Spaces.overlays, Spaces.earlierOverlays:
      // The collection's id comes before the path, which may be cut off.
      let isByID = space == Spaces.overlays
      let id = isByID ? own.withUnsafeBytes { PathKey.segmentEnd($0, 0) } : 0
      let place = id.map { path(own.dropFirst($0), order) } ?? "a document in a group"
      return "what the writes of \(name) do to \(place)"
    default: return "the index of writes of \(name) at \(path(own.dropLast(9), order))"
    }
  }

  /// A path that bytes of a path key begin, with an ellipsis when they end within a segment.
  static func path(_ bytes: ArraySlice<UInt8>, _ order: KeyOrder) -> String {
    let bytes = Bytes(bytes)
    return bytes.withUnsafeBytes { buffer in
      var text = ""
      var at = 0
      while at < buffer.count, let end = PathKey.segmentEnd(buffer, at),
        let key = PathKey.key(buffer, at..<end, order)
      {
        text += "/\(order == .documents ? DocumentKey.segment(key.string) : key.string)"
        at = end
      }
      let rest = buffer[at...]
      if rest.isEmpty { return text.isEmpty ? "/" : text }
      if rest.count == 1, rest.first == PathKey.priorityMark { return "\(text)/.priority" }
      let isText = rest.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
      return isText ? "\(text)/\(String(decoding: rest, as: UTF8.self))…" : "\(text)/…"
    }
  }
}
