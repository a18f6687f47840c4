import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The pins of a tree, by path.
enum Pins {
  static func key(_ pin: Pin, _ order: KeyOrder) -> Bytes {
    let hash = Queries.hash(PathKey.encode(pin.path, order), pin.parameters)
    return IndexKey.row(StoreKey.prefix(pin.tree), pin.path, order, hash)
  }

  static func pin(_ tx: LeafTransaction, _ pin: Pin, _ order: KeyOrder) throws(StoreError) {
    var writer = ByteWriter()
    NodeCodec.append(pin.path, to: &writer)
    writer.sized(pin.parameters)
    try tx.put(Spaces.pins, key(pin, order), payload: writer.bytes)
  }

  static func unpin(_ tx: LeafTransaction, _ pin: Pin, _ order: KeyOrder) throws(StoreError) {
    try tx.delete(Spaces.pins, key(pin, order))
  }

  static func read(_ tree: TreeID, _ key: Bytes, _ value: Bytes) throws(StoreError) -> Pin {
    guard let payload = Record.open(Spaces.pins, key, value) else {
      throw Damage.error(Spaces.pins, key)
    }
    var reader = ByteReader(payload)
    guard let path = NodeCodec.path(&reader), let parameters = reader.text() else {
      throw Damage.error(Spaces.pins, key)
    }
    return Pin(tree: tree, path: path, parameters: parameters)
  }

  static func all(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> [Pin] {
    var pins: [Pin] = []
    for (key, value) in try view.entries(Spaces.pins, prefix: StoreKey.prefix(tree)) {
      pins.append(try read(tree, key, value))
    }
    // Rows of long paths are cut, and those of one path are ordered by a hash.
    return pins.sorted {
      if $0.path != $1.path { return $0.path < $1.path }
      return $0.parameters.utf8.lexicographicallyPrecedes($1.parameters.utf8)
    }
  }
}
