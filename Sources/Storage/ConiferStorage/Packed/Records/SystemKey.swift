import ConiferKeyValue
import ConiferLeafStore

/// The keys of the store's own records: tree 0 of the system space, a letter, and what belongs to that kind of record.
///
/// The letters are part of the format.
enum SystemKey: Equatable {
  /// The version of the format of all records.
  case format
  /// The number of the next tree.
  case nextTree
  /// What is known of a tree.
  case tree(TreeID)
  /// The number of the tree with a name, in UTF-8.
  case treeName(Bytes)
  /// The counter by which queries remember their last use.
  case clock
  /// The number above which new lanes begin.
  case queueFloor
  /// The recovery marker.
  case recovery
  /// The mending marker of a tree.
  case mending(TreeID)

  private enum Letter: UInt8 {
    case format = 0x66  // f
    case name = 0x6D  // m
    case next = 0x6E  // n
    case queueFloor = 0x71  // q
    case mending = 0x72  // r
    case recovery = 0x73  // s
    case tree = 0x74  // t
    case clock = 0x75  // u

    var prefix: Bytes { SystemKey.prefix + [rawValue] }
  }

  /// What all of them begin with.
  static let prefix = StoreKey.prefix(TreeID(rawValue: 0))
  /// What the keys of all trees begin with.
  static let trees = Letter.tree.prefix
  /// What the keys of all mending markers begin with.
  static let mendingMarkers = Letter.mending.prefix

  /// The key in the store.
  var bytes: Bytes {
    switch self {
    case .format: Letter.format.prefix
    case .nextTree: Letter.next.prefix
    case .tree(let id): Letter.tree.prefix + StoreKey.prefix(id)
    case .treeName(let name): Letter.name.prefix + name
    case .clock: Letter.clock.prefix
    case .queueFloor: Letter.queueFloor.prefix
    case .recovery: Letter.recovery.prefix
    case .mending(let id): Letter.mending.prefix + StoreKey.prefix(id)
    }
  }

  /// The key of the name of a tree.
  static func treeName(_ name: String) -> SystemKey { .treeName(Bytes(name.utf8)) }

  /// Reads a key of the system space; nil for one that this version does not know.
  init?(_ bytes: Bytes) {
    guard bytes.count > 4, bytes.starts(with: Self.prefix), let letter = Letter(rawValue: bytes[4])
    else { return nil }
    let rest = Bytes(bytes[5...])
    switch (letter, rest.count) {
    case (.format, 0): self = .format
    case (.next, 0): self = .nextTree
    case (.tree, 4): self = .tree(StoreKey.tree(rest))
    case (.name, 1...): self = .treeName(rest)
    case (.clock, 0): self = .clock
    case (.queueFloor, 0): self = .queueFloor
    case (.recovery, 0): self = .recovery
    case (.mending, 4): self = .mending(StoreKey.tree(rest))
    default: return nil
    }
  }
}
