package import ConiferKeyValue

/// Errors about records whose bytes are not what was stored.
package enum Damage {
  /// The error for a record; whoever catches it may set the record aside and try again.
  package static func error(_ space: Space, _ key: Bytes) -> StoreError {
    StoreError(
      .damaged,
      space == Spaces.system
        ? "The store's own list of trees is damaged: salvage the store, or restore a backup."
        : "A stored record is damaged. In a cache it is set aside at the next read; for the only copy "
          + "restore a backup.",
      cause: "space \(space.id), key \(hex(key))",
      place: StoreError.Place(space: space.id, key: key))
  }

  /// The bytes of a key for people, cut when long.
  package static func hex(_ key: Bytes) -> String {
    key.count > 32 ? "\(Bytes(key.prefix(32)).hex)… (\(key.count) bytes)" : key.hex
  }
}

/// The closure's result, or nil when it meets damage or a record of a later version.
package func undamaged<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R? {
  do throws(StoreError) {
    return try body()
  } catch {
    guard [.damaged, .unsupported].contains(error.code) else { throw error }
    return nil
  }
}
