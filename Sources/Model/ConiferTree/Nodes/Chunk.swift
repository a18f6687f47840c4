/// A part of a map of children: up to 32 children in key order, or up to 32 smaller parts.
///
/// Parts are immutable and shared between versions of a map (a persistent B+ tree): a change
/// copies the parts on its way down and nothing else.
final class Chunk: Sendable {
  enum Body: Sendable {
    case entries(ContiguousArray<Node.Child>)
    case chunks(ContiguousArray<Chunk>)
  }

  /// The most entries of one part.
  static let capacity = 32

  /// The children that were known from the beginning; nil for leaves that are decoded later.
  private let known: Body?
  private let lazyBody: LazyBody?
  let totals: Totals
  /// The smallest key of each smaller part; none when the children are here.
  let firstKeys: ContiguousArray<Key>

  /// The children or smaller parts.
  var body: Body { known ?? lazyBody?.body ?? .entries([]) }

  /// A part whose children are made when they are first looked at.
  init(_ lazyBody: LazyBody, totals: Totals) {
    known = nil
    self.lazyBody = lazyBody
    self.totals = totals
    firstKeys = []
  }

  init(entries: ContiguousArray<Node.Child>, totals: Totals? = nil) {
    known = .entries(entries)
    lazyBody = nil
    self.totals = totals ?? Totals(entries)
    firstKeys = []
  }

  init(chunks: ContiguousArray<Chunk>) {
    known = .chunks(chunks)
    lazyBody = nil
    totals = chunks.reduce(into: Totals()) { $0.add($1.totals) }
    firstKeys = ContiguousArray(chunks.map(\.firstKey))
  }

  /// A copy of a part that consists of smaller ones, with one of them replaced.
  init(_ old: Chunk, _ chunks: ContiguousArray<Chunk>, replacing i: Int, with part: Chunk) {
    var copy = chunks
    copy[i] = part
    known = .chunks(copy)
    lazyBody = nil
    totals =
      old.totals.replacing(chunks[i].totals, with: part.totals)
      ?? copy.reduce(into: Totals()) { $0.add($1.totals) }
    var keys = old.firstKeys
    if keys[i] != part.firstKey { keys[i] = part.firstKey }
    firstKeys = keys
  }

  /// A map of strictly ascending entries, filled evenly; at least one entry.
  static func build(_ entries: ContiguousArray<Node.Child>) -> Chunk {
    if entries.count <= capacity { return Chunk(entries: entries) }
    var level = groups(entries.count).map { Chunk(entries: ContiguousArray(entries[$0])) }
    while level.count > 1 {
      level = groups(level.count).map { Chunk(chunks: ContiguousArray(level[$0])) }
    }
    return level[0]
  }

  /// Cuts a count into the fewest ranges that fit a part, of nearly equal size.
  private static func groups(_ count: Int) -> [Range<Int>] {
    let parts = (count + capacity - 1) / capacity
    return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
  }

  /// The number of entries or parts directly here.
  var width: Int {
    switch body {
    case .entries(let entries): return entries.count
    case .chunks(let chunks): return chunks.count
    }
  }

  /// The smallest key; parts are never empty.
  var firstKey: Key {
    switch body {
    case .entries(let entries): return entries[0].key
    case .chunks: return firstKeys[0]
    }
  }

  /// The smaller part that a key belongs to: the last one that begins at or before it, or the
  /// first.
  func part(for key: Key) -> Int {
    var (low, high) = (0, firstKeys.count)
    while high - low > 1 {
      let middle = (low + high) >> 1
      if Key.compare(firstKeys[middle], key) <= 0 { low = middle } else { high = middle }
    }
    return low
  }

  /// The place of a key among entries, and whether it is there.
  static func place(of key: Key, in entries: ContiguousArray<Node.Child>) -> (Int, found: Bool) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) >> 1
      let order = Key.compare(entries[middle].key, key)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Visits the children in key order.
  func forEach(_ body: (Key, Node) -> Void) {
    switch self.body {
    case .entries(let entries):
      entries.withUnsafeBufferPointer { for child in $0 { body(child.key, child.node) } }
    case .chunks(let chunks):
      for chunk in chunks { chunk.forEach(body) }
    }
  }

  /// The child of a key.
  func find(_ key: Key) -> Node? {
    var chunk = self
    while true {
      switch chunk.body {
      case .chunks(let chunks): chunk = chunks[chunk.part(for: key)]
      case .entries(let entries):
        let (i, found) = Chunk.place(of: key, in: entries)
        return found ? entries[i].node : nil
      }
    }
  }

  /// The number of children before a key, and whether the key is there.
  func rank(of key: Key) -> (Int, found: Bool) {
    var chunk = self
    var before = 0
    while true {
      switch chunk.body {
      case .entries(let entries):
        let (i, found) = Chunk.place(of: key, in: entries)
        return (before + i, found)
      case .chunks(let chunks):
        let part = chunk.part(for: key)
        for i in 0..<part { before += chunks[i].totals.count }
        chunk = chunks[part]
      }
    }
  }

  /// The entries that hold the child at a position, and the position of the first of them.
  func entries(at position: Int) -> (entries: ContiguousArray<Node.Child>, start: Int) {
    var chunk = self
    var start = 0
    while true {
      switch chunk.body {
      case .entries(let entries): return (entries, start)
      case .chunks(let chunks):
        var i = 0
        while i < chunks.count - 1, position >= start + chunks[i].totals.count {
          start += chunks[i].totals.count
          i += 1
        }
        chunk = chunks[i]
      }
    }
  }
}
