internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Which documents and queries of a ``DocumentStream`` a store holds.
struct StreamHoldings: CustomStringConvertible {
  /// One bit for each document, and the highest one for the query, by the number of the commit that
  /// added them.
  private var bits: [Int: UInt8] = [:]
  private static let query = 7

  /// Reads what a store holds.
  init(_ view: any DocumentView, _ tree: TreeID, _ group: String) throws(StoreError) {
    for collection in try view.collections(tree, after: nil, limit: .max) {
      let number = collection.description.split(separator: "/").dropFirst().first
      let documents = try view.documents(tree, in: collection, after: nil, limit: .max)
      for document in documents {
        insert(
          number.flatMap { Int($0.dropFirst()) } ?? 0, Int(document.path.id.dropFirst()) ?? 6)
      }
    }
    for query in try view.trackedQueries(tree, after: nil, limit: .max) {
      insert(Int(clamping: query.id.rawValue), Self.query)
    }
  }

  /// Reads what a commit recorded.
  init(bytes: some Collection<UInt8>) {
    var rest = Array(bytes)
    while rest.count >= 5 {
      bits[rest[..<4].reduce(0) { $0 << 8 | Int($1) }] = rest[4]
      rest.removeFirst(5)
    }
  }

  /// The bytes that a commit records.
  var bytes: [UInt8] {
    bits.sorted { $0.key < $1.key }.flatMap { key($0.key).suffix(4) + [$0.value] }
  }

  /// The documents that a commit stores.
  static func changes(of number: Int) -> [(number: Int, index: Int)] {
    var changes = (0..<6).map { (number: number, index: $0) }
    guard number > 1 else { return changes }
    changes.append((number - 1, 0))
    if (number - 1) % 4 == 0 { changes.append((number - 1, 4)) }
    return changes
  }

  /// Adds what a commit brings.
  mutating func commit(_ number: Int) {
    for change in Self.changes(of: number) { insert(change.number, change.index) }
    insert(number, Self.query)
  }

  private mutating func insert(_ number: Int, _ bit: Int) {
    bits[number, default: 0] |= 1 << UInt8(bit)
  }

  /// Whether a document is there.
  func has(_ number: Int, _ index: Int) -> Bool {
    bits[number, default: 0] >> UInt8(index) & 1 == 1
  }
  func hasQuery(_ number: Int) -> Bool { has(number, Self.query) }
  func hasAny(_ number: Int) -> Bool { bits[number] != nil }

  var isEmpty: Bool { bits.isEmpty }

  /// What is here and not there.
  func subtracting(_ other: StreamHoldings) -> StreamHoldings {
    var left = self
    for (number, mask) in bits {
      let more = mask & ~other.bits[number, default: 0]
      left.bits[number] = more == 0 ? nil : more
    }
    return left
  }

  var description: String {
    bits.sorted { $0.key < $1.key }.map { number, mask in
      let documents = (0..<Self.query).filter { mask >> UInt8($0) & 1 == 1 }.map { "d\($0)" }
      let all = documents + (has(number, Self.query) ? ["its query"] : [])
      return "n\(number) (\(all.joined(separator: " ")))"
    }.joined(separator: ", ")
  }
}
