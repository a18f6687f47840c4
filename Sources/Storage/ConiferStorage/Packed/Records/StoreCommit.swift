import ConiferKeyValue
import ConiferLeafStore

/// The number of a store's newest commit, in a record of its own that each commit writes.
///
/// It lies beside the rows of usage, which a commit writes anyway, so that it costs no page.
struct StoreCommit: Equatable {
  static let key = StoreKey.prefix(TreeID(rawValue: 0)) + [0x63]  // c
  /// No commit gets a higher number; counting never comes this far.
  static let lastNumber: UInt64 = 1 << 62

  /// Random bits by which a store and its numbering are known.
  let store: UInt64
  let number: UInt64

  init(store: UInt64, number: UInt64) {
    self.store = store
    self.number = number
  }

  init?(_ payload: Bytes) {
    var reader = ByteReader(payload, from: 8)
    guard payload.count > 8, let number = reader.varint(), reader.isAtEnd,
      (1...Self.lastNumber).contains(number)
    else { return nil }
    self.init(store: StoreKey.number(atEndOf: Bytes(payload.prefix(8))), number: number)
  }

  var payload: Bytes {
    var writer = ByteWriter()
    writer.bigEndian(store)
    writer.varint(number)
    return writer.bytes
  }

  /// The one after a commit; it begins a numbering where none can be continued.
  static func after(_ commit: StoreCommit?) -> StoreCommit {
    guard let commit, commit.number < lastNumber else {
      return StoreCommit(store: .random(in: .min ... .max), number: 1)
    }
    return StoreCommit(store: commit.store, number: commit.number + 1)
  }

  /// What a store has in its place.
  enum Stored: Equatable {
    /// Nothing was ever numbered.
    case none
    case number(StoreCommit)
    /// There is a record, and it cannot be read.
    case unreadable

    var commit: StoreCommit? {
      if case .number(let commit) = self { commit } else { nil }
    }
  }

  static func read(_ view: any OrderedView) throws(StoreError) -> Stored {
    try undamaged { () throws(StoreError) in
      guard let value = try view.value(Spaces.usage, key) else { return Stored.none }
      guard let payload = Record.open(Spaces.usage, key, value), let commit = StoreCommit(payload)
      else { return .unreadable }
      return .number(commit)
    } ?? .unreadable
  }
}
