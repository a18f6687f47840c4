package import ConiferDocument
package import ConiferKeyValue

/// What a query may keep in memory.
package struct ReadAllowance {
  /// The fields that are wanted beside those that the query compares; nil for all.
  package let fields: [FieldPath]?
  /// Called before memory is used, with the approximate number of bytes; a negative number gives
  /// bytes back.
  ///
  /// - Returns: whether they may be.
  package let claim: (Int) -> Bool

  /// What a query may keep.
  package init(fields: [FieldPath]? = nil, claim: @escaping (Int) -> Bool) {
    self.fields = fields
    self.claim = claim
  }

  /// The error of a query that may use no more memory.
  package static let exceeded = StoreError(
    .tooLarge, "The documents take more memory than there is for them: ask for fewer, with a limit."
  )
}

extension DocumentView {
  /// The documents that a query gives, in its order and up to its limit, without waiting writes.
  ///
  /// - Parameter allowance: limits the memory. When the query is answered, the bytes that it has
  ///   claimed are at least those of the documents; when it fails, it gives nothing back.
  /// - Throws: `tooLarge` when it may keep no more.
  package func query(
    _ tree: TreeID, _ query: DocumentQuery, within allowance: ReadAllowance
  ) throws(StoreError) -> [Document] {
    let lane = Lane(tree: tree)
    if let packed = self as? PackedView {
      return try DocumentFinder(
        packed.snapshot, lane, allowance, keepsIndexes: packed.keepsIndexes
      ).answer(query, nil).documents
    }
    // Other backends take no allowance, so their documents are counted afterwards.
    let found = try self.query(lane, query).documents
    guard allowance.claim(found.reduce(0) { $0 + $1.memory }) else {
      throw ReadAllowance.exceeded
    }
    return found
  }
}

extension Document {
  /// About how many bytes of memory the document takes.
  package var memory: Int {
    128 + path.size + (fields.map { DocumentValue.map($0).memory } ?? 0)
  }

  /// The document with some fields alone, by the first names of their paths.
  func selecting(_ selection: FieldSelection) -> Document {
    guard case .found(let fields) = state else { return self }
    let kept = fields.fields.filter { field in
      selection.names.contains { field.name.utf8.elementsEqual($0.utf8) }
    }
    return Document(
      path, .found(MapValue(kept)), version: version, readTime: readTime, createTime: createTime)
  }
}

extension DocumentValue {
  /// About how many bytes of memory the value takes, its place in an array included.
  fileprivate var memory: Int {
    switch self {
    case .string(let text): 40 + Self.block(text.utf8.count > 15 ? text.utf8.count : 0)
    case .bytes(let bytes): 40 + Self.block(bytes.count)
    case .reference(let name): 40 + Self.block(name.path.size * 2)
    case .array(let values): values.reduce(40 + Self.block(0)) { $0 + $1.memory }
    case .vector(let numbers): 40 + Self.block(8 * numbers.count)
    case .map(let map):
      map.fields.reduce(40 + Self.block(0)) { bytes, field in
        let name = field.name.utf8.count
        return bytes + 16 + (name > 15 ? Self.block(name) : 0) + field.value.memory
      }
    default: 40
    }
  }

  /// The bytes that a block of so many takes where it is allocated by itself.
  private static func block(_ bytes: Int) -> Int { bytes + 48 }
}
