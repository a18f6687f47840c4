import ConiferKeyValue
import ConiferLeafStore

/// The format record and the registry of trees, in tree 0 of the system space.
enum Trees {
  /// The version of the format of all records.
  static let format: UInt64 = 1
  /// The longest name of a tree, in UTF-8 bytes.
  static let longestName = 256

  private static let formatKey = SystemKey.format.bytes
  private static let nextKey = SystemKey.nextTree.bytes

  static func infoKey(_ id: TreeID) -> Bytes { SystemKey.tree(id).bytes }

  private static func nameKey(_ name: String) -> Bytes { SystemKey.treeName(name).bytes }

  private static func payload(_ view: any OrderedView, _ key: Bytes) throws(StoreError) -> Bytes? {
    guard let value = try view.value(Spaces.system, key) else { return nil }
    guard let payload = Record.open(Spaces.system, key, value) else {
      throw Damage.error(Spaces.system, key)
    }
    return payload
  }

  /// Refuses an encrypted store that is read without its key.
  ///
  /// - Throws: `wrongKey`.
  static func requireReadable(_ view: any OrderedView) throws(StoreError) {
    // A layer hides its own records: they are seen only without it.
    guard try view.keys(.layer, prefix: [], limit: 1).isEmpty else {
      throw StoreError(
        .wrongKey,
        "The store is encrypted: open it with its key, as StorageOptions.encryption. "
          + "Nothing was changed.")
    }
  }

  /// Checks that the records are of this format; false when the store is new.
  ///
  /// - Throws: `newerFormat`, `foreign`, `damaged`, `wrongKey`.
  static func check(_ view: any OrderedView) throws(StoreError) -> Bool {
    try requireReadable(view)
    if let payload = try payload(view, formatKey) {
      var reader = ByteReader(payload)
      guard let version = reader.varint() else { throw Damage.error(Spaces.system, formatKey) }
      guard version <= format else {
        throw StoreError(
          .newerFormat,
          "The store's records have format \(version), and this version of Conifer knows up to "
            + "\(format): open it with a newer one. Nothing was changed.")
      }
      return true
    }
    for space in Spaces.all {
      if try view.first(space, atOrAfter: []) != nil {
        throw StoreError(
          .foreign,
          "The store holds records but no Conifer format: choose another directory. "
            + "Nothing was changed.")
      }
    }
    return false
  }

  /// Writes the format record of a new store.
  static func writeFormat(_ tx: LeafTransaction) throws(StoreError) {
    var writer = ByteWriter()
    writer.varint(format)
    try tx.put(Spaces.system, formatKey, payload: writer.bytes)
  }

  /// What is known of a tree, or nil.
  static func info(_ view: any OrderedView, _ id: TreeID) throws(StoreError) -> TreeInfo? {
    guard let payload = try payload(view, infoKey(id)) else { return nil }
    var reader = ByteReader(payload)
    guard let byte = reader.byte(), let name = reader.text() else {
      throw Damage.error(Spaces.system, infoKey(id))
    }
    guard let order = KeyOrder(rawValue: byte) else {
      throw StoreError(
        .newerFormat,
        "The tree \"\(name)\" has a key order that this version of Conifer does not know: open "
          + "the store with a newer one. Nothing was changed.")
    }
    return TreeInfo(id: id, name: name, order: order)
  }

  /// What is known of a tree.
  ///
  /// - Throws: `invalid` when there is none.
  static func known(_ view: any OrderedView, _ id: TreeID) throws(StoreError) -> TreeInfo {
    guard let info = try info(view, id) else {
      throw StoreError(
        .invalid, "The store has no tree \(id.rawValue): make one with tree(named:).")
    }
    return info
  }

  /// All trees, oldest first.
  static func all(_ view: any OrderedView) throws(StoreError) -> [TreeInfo] {
    var trees: [TreeInfo] = []
    for key in try view.keys(Spaces.system, prefix: SystemKey.trees) {
      guard case .tree(let id) = SystemKey(key) else { continue }
      if let info = try info(view, id) { trees.append(info) }
    }
    return trees
  }

  /// All trees whose records can be read: without those whose encryption key is missing.
  static func readable(_ view: any OrderedView) throws(StoreError) -> [TreeInfo] {
    var trees: [TreeInfo] = []
    for info in try all(view) where try isReadable(view, info.id) { trees.append(info) }
    return trees
  }

  /// Whether the records of a tree can be decrypted, if they are encrypted with a key of its own.
  static func isReadable(_ view: any OrderedView, _ id: TreeID) throws(StoreError) -> Bool {
    do throws(StoreError) {
      for space in [Spaces.runs, Spaces.queries, Spaces.pins] {
        guard let key = try view.keys(space, prefix: StoreKey.prefix(id), limit: 1).first else {
          continue
        }
        _ = try view.get(space, key) { _ in }
      }
      return true
    } catch {
      if error.code == .wrongKey { return false }
      // The damage is repaired at the next read of the record.
      if error.code == .damaged { return true }
      throw error
    }
  }

  /// The tree with a name, or nil.
  static func find(_ view: any OrderedView, _ name: String) throws(StoreError) -> TreeInfo? {
    guard let payload = try payload(view, nameKey(name)) else { return nil }
    guard let info = try info(view, StoreKey.tree(payload)) else {
      // If it counted as missing, a second tree would be made, and the data of this one could not
      // be reached.
      throw Damage.error(Spaces.system, infoKey(StoreKey.tree(payload)))
    }
    return info
  }

  /// Checks that every tree is found by its name: a tree that is not found would be made again,
  /// empty.
  ///
  /// - Throws: `damaged`.
  static func checkNames(_ view: any OrderedView) throws(StoreError) {
    for info in try all(view) where try find(view, info.name)?.id != info.id {
      throw Damage.error(Spaces.system, nameKey(info.name))
    }
  }

  /// The tree with a name, made if there is none.
  static func make(
    _ tx: LeafTransaction, _ name: String, _ order: KeyOrder
  ) throws(StoreError) -> TreeID {
    guard (1...longestName).contains(name.utf8.count) else {
      throw StoreError(
        .invalid,
        "A tree's name has 1 to \(longestName) UTF-8 bytes, not \(name.utf8.count): choose another."
      )
    }
    if let known = try find(tx, name) {
      guard known.order == order else {
        throw StoreError(
          .invalid,
          "The tree \"\(name)\" has the key order \(known.order), which never changes: open it "
            + "with that, or choose another name.")
      }
      return known.id
    }
    var next: UInt64 = 1
    if let payload = try payload(tx, nextKey) {
      var reader = ByteReader(payload)
      guard let stored = reader.varint(), stored > 0 else {
        throw Damage.error(Spaces.system, nextKey)
      }
      next = stored
    }
    // No tree is overwritten, even if the record has a number that is in use.
    let last = try tx.lastKey(
      Spaces.system, SystemKey.trees, atOrBefore: infoKey(TreeID(rawValue: .max)))
    if let last, case .tree(let id) = SystemKey(last) { next = max(next, UInt64(id.rawValue) + 1) }
    guard let number = UInt32(exactly: next), number < UInt32.max else {
      throw StoreError(.tooLarge, "The store has made all the trees it can: make a new store.")
    }
    let id = TreeID(rawValue: number)
    var writer = ByteWriter()
    writer.varint(next + 1)
    try tx.put(Spaces.system, nextKey, payload: writer.bytes)
    writer = ByteWriter()
    writer.byte(order.rawValue)
    writer.sized(name)
    try tx.put(Spaces.system, infoKey(id), payload: writer.bytes)
    try tx.put(Spaces.system, nameKey(name), payload: StoreKey.prefix(id))
    return id
  }

  /// Removes a tree with all of its records.
  static func wipe(_ tx: LeafTransaction, _ id: TreeID) throws(StoreError) {
    let info = try known(tx, id)
    for space in Spaces.all where space != Spaces.system && space != Spaces.usage {
      try tx.deleteAll(space, prefix: StoreKey.prefix(id), isCounted: false)
    }
    try MendingMarker.remove(tx, id)
    try tx.delete(Spaces.system, infoKey(id))
    try tx.delete(Spaces.system, nameKey(info.name))
    try tx.forgetUsage(id)
  }
}

/// What is known of a tree, kept in memory.
final class KnownTree: Sendable {
  let info: TreeInfo

  private init(_ info: TreeInfo) { self.info = info }

  /// - Throws: as `Trees.known`.
  static func info(_ snapshot: LeafSnapshot, _ id: TreeID) throws(StoreError) -> TreeInfo {
    let known = try snapshot.object(Spaces.system, id, Trees.infoKey(id)) { () throws(StoreError) in
      KnownTree(try Trees.known(snapshot, id))
    }
    if let known = known as? KnownTree { return known.info }
    return try Trees.known(snapshot, id)
  }

  /// The key order of a tree within a commit; nil when there is no such tree.
  static func order(_ tx: LeafTransaction, _ id: TreeID) throws(StoreError) -> KeyOrder? {
    do throws(StoreError) {
      return try info(tx.base, id).order
    } catch {
      guard error.code == .invalid else { throw error }
      return try Trees.info(tx, id)?.order
    }
  }
}
