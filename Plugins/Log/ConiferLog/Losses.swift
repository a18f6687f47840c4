import ConiferKeyValue
import Synchronization

/// The parts of the index that could not be read since the store was opened.
final class Losses: Sendable {
  /// A block of a table, or all of a table whose list of blocks is unreadable.
  struct Loss: Sendable {
    let table: UInt64
    /// The block's number; nil for all of them.
    let block: Int?
    /// The first stored key that the lost part may have contained.
    let low: Bytes
    /// The first stored key after the lost part; nil for the end.
    let high: Bytes?
    let path: String
    let offset: Int
    let length: Int

    /// Whether the lost part may have contained a stored key.
    func covers(_ key: UnsafeRawBufferPointer) -> Bool {
      guard low.withUnsafeBytes({ compareBytes($0, key) <= 0 }) else { return false }
      return high.map { $0.withUnsafeBytes { compareBytes(key, $0) < 0 } } ?? true
    }

    var finding: StoreFinding {
      let (first, last) = (low.first ?? 0, high?.first ?? .max)
      return StoreFinding(
        file: path, offset: offset, bytes: length, spaces: first...max(first, last),
        words: "a part of the index in \(path), at byte \(offset), could not be read, and the "
          + "records that it told of are left out")
    }
  }

  private let known = Mutex<[Loss]>([])

  var all: [Loss] { known.withLock { $0 } }

  /// Remembers a loss, once.
  func register(_ loss: Loss) {
    known.withLock { known in
      if !known.contains(where: { $0.table == loss.table && $0.block == loss.block }) {
        known.append(loss)
      }
    }
  }

  /// Removes losses in tables that no longer exist.
  func forget(_ table: UInt64) {
    known.withLock { $0.removeAll { $0.table == table } }
  }
}
