import ConiferKeyValue
import Synchronization

/// A table that holds rows of spaces.
enum Table: String, CaseIterable {
  /// Small values: the row is in the key's tree.
  case rows
  /// Values of kilobytes: the key's tree holds only where the value is.
  case blobs

  /// The table for an empty space.
  init(_ shape: Space.Shape) {
    switch shape {
    case .rows, .fifo: self = .rows
    case .blobs: self = .blobs
    }
  }

  /// Its place in arrays that hold something for each table.
  var index: Int { self == .rows ? 0 : 1 }

  var other: Table { self == .rows ? .blobs : .rows }
}

/// Which table each space of an open store is in, as far as it was asked for: the one that holds its rows,
/// whatever shape a caller names. Safe on any thread.
final class SpaceTables: Sendable {
  /// By the space's id.
  private let known = Mutex<[Table?]>(Array(repeating: nil, count: 256))

  /// The table to read a space from.
  ///
  /// - Parameter holdsRows: asks a view or transaction whether a table holds rows of the space.
  /// - Throws: what it throws, but for `damaged`: a damaged table counts as empty here, and whoever reads it
  ///   meets the damage.
  func table(
    _ space: Space, holdsRows: (Table) throws(StoreError) -> Bool
  ) throws(StoreError) -> Table {
    if let table = known.withLock({ $0[Int(space.id)] }) { return table }
    let own = Table(space.shape)
    for table in [own, own.other] {
      do throws(StoreError) {
        guard try holdsRows(table) else { continue }
      } catch {
        // After any other failure SQLite may have ended the transaction: nobody may go on in it.
        guard error.code == .damaged else { throw error }
        continue
      }
      note(space, table)
      return table
    }
    return own
  }

  /// The table to put a row of a space into: from now on the space is there.
  ///
  /// - Parameter holdsRows: as for `table`.
  func tableToFill(
    _ space: Space, holdsRows: (Table) throws(StoreError) -> Bool
  ) throws(StoreError) -> Table {
    let table = try table(space, holdsRows: holdsRows)
    note(space, table)
    return table
  }

  private func note(_ space: Space, _ table: Table) {
    known.withLock { $0[Int(space.id)] = table }
  }
}
