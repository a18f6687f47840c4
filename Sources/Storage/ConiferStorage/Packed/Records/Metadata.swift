import ConiferKeyValue
import ConiferLeafStore

/// Named bytes of a tree.
enum Metadata {
  /// The longest name, in UTF-8 bytes.
  static let longestName = 256

  private static func key(_ tree: TreeID, _ name: String) throws(StoreError) -> Bytes {
    guard (1...longestName).contains(name.utf8.count) else {
      throw StoreError(
        .invalid,
        "A name of metadata has 1 to \(longestName) UTF-8 bytes, not \(name.utf8.count): choose another."
      )
    }
    return StoreKey.prefix(tree) + Bytes(name.utf8)
  }

  static func read(
    _ view: any OrderedView, _ tree: TreeID, _ name: String
  ) throws(StoreError) -> Bytes? {
    let key = try key(tree, name)
    guard let value = try view.value(Spaces.metadata, key) else { return nil }
    guard let payload = Record.open(Spaces.metadata, key, value) else {
      throw Damage.error(Spaces.metadata, key)
    }
    return payload
  }

  static func names(
    _ view: any OrderedView, _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] {
    let prefix = StoreKey.prefix(tree)
    let keys = try view.keys(
      Spaces.metadata, prefix: prefix, after: after.map { prefix + Bytes($0.utf8) }, limit: limit)
    return keys.map { String(decoding: $0.dropFirst(4), as: UTF8.self) }
  }

  static func write(
    _ tx: LeafTransaction, _ tree: TreeID, _ name: String, _ bytes: Bytes?
  ) throws(StoreError) {
    let key = try key(tree, name)
    if let bytes {
      try tx.put(Spaces.metadata, key, payload: bytes)
    } else {
      try tx.delete(Spaces.metadata, key)
    }
  }
}
