package import ConiferKeyValue

/// Where the bodies of one tree's records are unpacked: the codec, and the dictionaries of a view.
package struct DictionarySource {
  package let view: any LeafView
  package let tree: TreeID

  package init(view: any LeafView, tree: TreeID) {
    self.view = view
    self.tree = tree
  }

  /// A dictionary by its number.
  ///
  /// - Throws: `damaged`, naming the dictionary, also when it is missing; `unsupported`.
  package func dictionary(_ number: UInt32) throws(StoreError) -> TreeDictionary {
    if let known = view.leaves.dictionaries.find(tree, number) { return known }
    let key = DictionaryRecord.key(tree, number)
    let record = try DictionaryRecord(key: key, value: view.value(Spaces.dictionaries, key))
    let dictionary = TreeDictionary(number: number, ratio: record.ratio, record.content)
    view.leaves.dictionaries.add(tree, dictionary)
    return dictionary
  }

  /// The body that was packed, or nil when the bytes are not one.
  ///
  /// - Parameter dictionary: the number that the record names, 0 for none.
  /// - Throws: `damaged` for the dictionary, `unsupported`.
  package func unpack(
    _ method: Codec.Method, _ dictionary: UInt32, _ packed: Bytes, rawCount: Int
  ) throws(StoreError) -> Bytes? {
    guard dictionary != 0 else {
      return try view.leaves.codec.unpack(method, packed, rawCount: rawCount)
    }
    return try view.leaves.codec.unpack(
      method, packed, rawCount: rawCount, try self.dictionary(dictionary))
  }
}
