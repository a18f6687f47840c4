public import ConiferKeyValue
import ConiferLeafStore

/// How to read the files of a kind of store when the store cannot be opened.
public struct SalvageMethod: Sendable {
  /// A function that reads the rows of the files in a directory, as edits that make them, in order.
  ///
  /// - Parameters:
  ///   - directory: nothing in it may be changed.
  ///   - scratch: a directory that may be made and filled, and is removed afterwards.
  ///   - edit: gets each edit.
  ///   - lost: gets what could not be read.
  /// - Throws: `damaged` when nothing can be read at all, `io`, `denied`, and what `edit` throws.
  public typealias Read =
    @Sendable (
      _ directory: String, _ scratch: String, _ edit: (Batch.Edit) throws(StoreError) -> Void,
      _ lost: (StoreFinding) -> Void
    ) throws(StoreError) -> Void

  let read: Read
  let rows: @Sendable (_ directory: String) throws(StoreError) -> any OrderedStore
  package let elsewhere: @Sendable (_ directory: String, StorageOptions) -> StorageConfiguration

  /// How a kind of store is salvaged.
  ///
  /// - Parameters:
  ///   - read: reads the rows of damaged files.
  ///   - rows: opens a store that such rows fit into, in a directory of its own.
  ///   - elsewhere: the same configuration for another directory and other options.
  public init(
    read: @escaping Read,
    rows: @escaping @Sendable (_ directory: String) throws(StoreError) -> any OrderedStore,
    elsewhere: @escaping @Sendable (_ directory: String, StorageOptions) -> StorageConfiguration
  ) {
    self.read = read
    self.rows = rows
    self.elsewhere = elsewhere
  }

  /// The numbers of the queue's spaces. There, an old row is better than none when the newer one is
  /// lost.
  public static let precious: Set<UInt8> = Set(
    [Spaces.queue, Spaces.queueParts, Spaces.queueIndex, Spaces.finished].map(\.id))

  /// The edit that makes a row.
  ///
  /// - Parameters:
  ///   - key: with its space's number in front.
  ///   - value: the row's bytes, as the store kept them.
  /// - Returns: nil for a key that no record has.
  public static func row(_ key: Bytes, _ value: Bytes) -> Batch.Edit? {
    guard let id = key.first, id > 0, id < 255 else { return nil }
    let known = (Spaces.all + [.layer]).first { $0.id == id }
    return .put(known ?? Space(id: id, shape: .rows), key: Bytes(key.dropFirst()), value: value)
  }
}
