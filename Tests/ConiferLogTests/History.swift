import ConiferKeyValue
import TestSupport

@testable import ConiferLog

/// A list of commits that a seed makes, and what a store must hold after each.
struct History {
  typealias Rows = [UInt8: [Bytes: Bytes]]

  private(set) var batches: [(batch: Batch, durability: Durability)] = []
  /// What a store holds after so many commits; the first is empty.
  private(set) var states: [Rows] = [[:]]

  init(seed: UInt64, commits: Int, values: [Int] = [0, 3, 40, 64, 65, 200, 700, 3000]) {
    var random = Seeded(seed)
    for number in 0..<commits {
      var batch = Batch()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let space = [rows, queue, blobs][Int.random(in: 0..<3, using: &random)]
        let key = key(Int.random(in: 0..<24, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: batch.delete(space, key)
        case 1:
          batch.clear(
            space, from: key, to: TestSupport.key(Int.random(in: 0..<24, using: &random)))
        default:
          let size = values[Int.random(in: 0..<values.count, using: &random)]
          let seed = UInt8(truncatingIfNeeded: number)
          batch.put(space, key, (0..<size).map { UInt8(truncatingIfNeeded: $0 * 7) ^ seed })
        }
      }
      let durability: Durability = Bool.random(using: &random) ? .power : .process
      batches.append((batch, durability))
      states.append(Self.apply(batch, to: states[number]))
    }
  }

  static func apply(_ batch: Batch, to rows: Rows) -> Rows {
    var rows = rows
    for edit in batch.edits {
      switch edit {
      case .put(let space, let key, let value): rows[space.id, default: [:]][key] = value
      case .delete(let space, let key): rows[space.id]?[key] = nil
      case .clear(let space, let from, let to):
        rows[space.id] = rows[space.id]?.filter {
          bytesPrecede($0.key, from) || !bytesPrecede($0.key, to)
        }
      }
    }
    return rows.filter { !$0.value.isEmpty }
  }

  /// All that a store holds.
  static func read(_ store: LogStore) throws(StoreError) -> Rows {
    let view = try store.view()
    defer { view.close() }
    var found: Rows = [:]
    for space in spaces {
      for row in try contents(view, space) { found[space.id, default: [:]][row[0]] = row[1] }
    }
    return found
  }

  /// After how many commits a store was as it is, the last such; nil when it never was.
  func prefix(_ rows: Rows) -> Int? { states.lastIndex(of: rows) }
}
