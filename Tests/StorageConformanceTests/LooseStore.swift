import ConiferKeyValue
import Foundation
import TestSupport

@testable import StorageConformance

/// A store whose rows stand in a file without any checksum, so that a changed key is another key.
final class LooseStore: ForwardingStore {
  let base: ShelfStore
  private let file: String

  /// Stores that have an excuse, or none.
  static func factory(overlooks: Set<Anomaly>) -> StoreFactory {
    StoreFactory(name: "loose", declared: ShelfStore.declared, overlooks: overlooks) {
      (directory) throws(StoreError) in try LooseStore(directory)
    }
  }

  private init(_ directory: String) throws(StoreError) {
    base = try ShelfStore(Shelf(), directory)
    file = directory + "/rows"
    let bytes = FileManager.default.contents(atPath: file).map { Bytes($0) } ?? []
    _ = try base.apply(Self.batch(bytes), .process)
  }

  /// The rows of a file: of each the space, the lengths of key and value, and both.
  private static func batch(_ bytes: Bytes) -> Batch {
    let spaces: [Space] = [.a, .b, .c]
    var batch = Batch()
    var at = 0
    while at + 4 <= bytes.count {
      let value = at + 4 + Int(bytes[at + 1])
      let end = value + Int(bytes[at + 2]) << 8 + Int(bytes[at + 3])
      guard end <= bytes.count, let space = spaces.first(where: { $0.id == bytes[at] }) else {
        break
      }
      batch.put(space, Bytes(bytes[(at + 4)..<value]), Bytes(bytes[value..<end]))
      at = end
    }
    return batch
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    var bytes = FileManager.default.contents(atPath: file).map { Bytes($0) } ?? []
    for case .put(let space, let key, let value) in batch.edits {
      bytes += [space.id, UInt8(key.count), UInt8(value.count >> 8), UInt8(value.count & 0xFF)]
      bytes += key + value
    }
    guard FileManager.default.createFile(atPath: file, contents: Data(bytes)) else {
      throw StoreError(.io, "The rows cannot be written.")
    }
    return try base.apply(batch, durability)
  }
}
