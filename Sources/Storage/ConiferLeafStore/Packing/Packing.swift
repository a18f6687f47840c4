package import ConiferKeyValue

/// How new bodies of one tree are packed: the codec, the tree's newest dictionary, and how hard.
package struct Packing {
  package let codec: Codec
  package let dictionary: TreeDictionary?
  package let effort: Codec.Effort

  package init(
    _ codec: Codec, _ dictionary: TreeDictionary? = nil, _ effort: Codec.Effort = .quick
  ) {
    self.codec = codec
    self.effort = effort
    self.dictionary = dictionary
  }

  /// As the newest commit of a tree says.
  ///
  /// A dictionary that cannot be read is not used: whoever reads what names it meets the damage.
  package init(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    codec = tx.leaves.codec
    effort = tx.shape.effort
    let number = try tx.usage(tree).newestDictionary
    guard number != 0, codec.level != nil else {
      dictionary = nil
      return
    }
    do throws(StoreError) {
      dictionary = try DictionarySource(view: tx, tree: tree).dictionary(number)
    } catch {
      guard [.damaged, .unsupported].contains(error.code) else { throw error }
      dictionary = nil
    }
  }

  /// The smaller of a body and its packed form, and the number of the dictionary that it needs.
  package func pack(_ body: Bytes) -> (method: Codec.Method, dictionary: UInt32, body: Bytes) {
    let (method, packed) = codec.pack(body, dictionary, effort)
    return (method, method == .zstdDictionary ? dictionary?.number ?? 0 : 0, packed)
  }
}
