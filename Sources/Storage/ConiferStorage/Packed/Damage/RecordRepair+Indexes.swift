import ConiferKeyValue
import ConiferLeafStore

extension RecordRepair {
  /// Rebuilds all indexes of a tree, since data that their rows name may be lost.
  func restartIndexes(_ tree: TreeID) throws(StoreError) {
    var set = try IndexSet.read(tx, tree)
    guard !set.indexes.isEmpty else { return }
    try set.restart()
    try set.write(tx, tree)
  }

  /// Whether a row belongs to a declared index, which is then rebuilt: the row is damaged or does
  /// not fit its child.
  func isIndexDamaged(_ key: Bytes, _ stored: Bytes?, _ info: TreeInfo) throws(StoreError) -> Bool {
    guard let number = IndexSet.number(key), number != 0 else {
      guard let stored else {
        return try meetsDamage { () throws(StoreError) in
          _ = try IndexSet.read(tx, info.id)
          return false
        }
      }
      // A set that a later version wrote is refused and stays.
      return try meetsDamage { () throws(StoreError) in
        _ = try IndexSet.read(key, stored)
        return false
      }
    }
    return try IndexSet.read(tx, info.id).indexes.contains { $0.number == number }
  }

  func dropIndex(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try moveToReports(Spaces.indexes, key, .recordSetAside)
    if let number = IndexSet.number(key), number != 0 {
      var set = try IndexSet.read(tx, info.id)
      try set.restart(number)
      return try set.write(tx, info.id)
    }
    guard key == IndexSet.key(info.id) else {
      // Writing the set also writes the copy.
      return try IndexSet.read(tx, info.id).write(tx, info.id)
    }
    let copy = IndexSet.key(info.id, isCopy: true)
    guard let value = try tx.value(Spaces.indexes, copy), var set = try? IndexSet.read(copy, value)
    else {
      // The declarations are lost; declaring the indexes again builds them again.
      return try tx.deleteAll(Spaces.indexes, prefix: StoreKey.prefix(info.id))
    }
    try set.restart()
    try set.write(tx, info.id)
  }
}
