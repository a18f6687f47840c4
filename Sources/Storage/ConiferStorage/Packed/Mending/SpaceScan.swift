import ConiferKeyValue
import ConiferLeafStore

/// A walk over one tree's records of a space, in slices; it keeps only its position.
struct SpaceScan: Sendable {
  /// The maximum number of records of a slice, and about the maximum of their bytes.
  static let mostRecords = 256
  private static let mostBytes = 1 << 20

  let space: Space
  private let prefix: Bytes
  private var from: Bytes
  private(set) var isDone = false
  /// How many bytes of records were read so far; for a key, its value's size is included.
  private(set) var bytesRead = 0
  /// Whether a record was left out that the store could not lend.
  private(set) var hasSkipped = false

  init(_ space: Space, _ tree: TreeID) {
    self.space = space
    prefix = StoreKey.prefix(tree)
    from = prefix
  }

  /// Visits the keys of the next records with the sizes of their values, readable or not.
  mutating func sizes(
    _ view: any OrderedView, _ visit: (_ key: Bytes, _ size: Int) -> Void
  ) throws(StoreError) {
    // A slice that ends below its limits has reached the end of the records.
    var (count, hasRoom) = (0, true)
    try view.walkKeys(space, .atOrAfter(from)) { lent, size in
      guard lent.starts(with: prefix) else { return .stop }
      let key = Bytes(lent)
      visit(key, size)
      bytesRead.add(key.count + size)
      from = key + [0]
      count += 1
      hasRoom = count < Self.mostRecords
      return hasRoom ? .next : .stop
    }
    isDone = hasRoom
  }

  /// The next records, copied; those that the store cannot lend are left out.
  mutating func records(
    _ view: any OrderedView
  ) throws(StoreError) -> [(key: Bytes, value: Bytes)] {
    var records: [(key: Bytes, value: Bytes)] = []
    var (bytes, hasRoom) = (0, true)
    do throws(StoreError) {
      try view.walk(space, .atOrAfter(from)) { lent, value in
        guard lent.starts(with: prefix) else { return .stop }
        let key = Bytes(lent)
        records.append((key, Bytes(value)))
        from = key + [0]
        bytes += key.count + value.byteCount
        hasRoom = records.count < Self.mostRecords && bytes < Self.mostBytes
        return hasRoom ? .next : .stop
      }
      isDone = hasRoom
      bytesRead.add(bytes)
    } catch {
      bytesRead.add(bytes)
      guard [.damaged, .wrongKey].contains(error.code), let place = error.place,
        place.space == space.id, !bytesPrecede(place.key, from)
      else { throw error }
      hasSkipped = true
      from = place.key + [0]
    }
    return records
  }
}
