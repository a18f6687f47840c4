import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The stored overlays of one lane: the effect of its waiting writes on each document.
///
/// Key: the lane as in the queue, then the id of the document's collection as a segment of a path
/// key, then the document's path key; a long key is cut and ends in a hash. So a query of a
/// collection or of a group finds the rows of its own documents together. Payload: the path, then 1 and
/// fields, 2, fields and their mask, or 3 for a deletion; then, with a flag, the mask of the fields
/// whose previous values are the document's.
struct OverlayRows {
  enum Effect {
    static let set: UInt8 = 1
    static let patch: UInt8 = 2
    static let delete: UInt8 = 3
    /// Set when the row lists the fields whose previous values are the document's.
    static let hasStampedMask: UInt8 = 0x80
  }

  /// A stored overlay.
  struct Row {
    let space: Space
    let key: Bytes
    let value: Bytes
  }

  /// How many bytes of id and path key a row holds: with an identity of 256 bytes, a key has no room
  /// for more.
  static let longestKey = 200

  let view: any OrderedView
  let lane: Lane

  var prefix: Bytes { QueueReader.prefix(lane) }

  // MARK: Keys

  /// The row of a document.
  func key(_ path: DocumentPath) -> Bytes { key(Spaces.overlays, path) }

  /// The row of a document in a space.
  func key(_ space: Space, _ path: DocumentPath) -> Bytes {
    let name = Self.name(space, path)
    guard name.count > Self.longestKey else { return prefix + name }
    return prefix + name.prefix(Self.longestKey) + StoreKey.number(XXHash64.hash(name))
  }

  /// What the row of a document is named by in a space: in the earlier one without the id of its collection.
  fileprivate static func name(_ space: Space, _ path: DocumentPath) -> Bytes {
    let id = space == Spaces.overlays ? segment(path.collection.id) : []
    return id + DocumentKey.encode(path)
  }

  fileprivate static func segment(_ id: String) -> Bytes {
    PathKey.encode(Path([Key(id)]), .documents)
  }

  /// The document of a row; nil when its key was cut, or is none.
  func document(_ space: Space, _ key: Bytes) -> DocumentPath? {
    let name = Bytes(key.dropFirst(prefix.count))
    guard key.starts(with: prefix), name.count <= Self.longestKey,
      let path = PathKey.path(name, .documents)
    else { return nil }
    guard space == Spaces.overlays else { return DocumentKey.document(path) }
    return path.count == 3 ? DocumentKey.document(Path(Array(path.keys[1...]))) : nil
  }

  // MARK: Reading

  /// The spaces that may have rows of the lane.
  func spaces() throws(StoreError) -> [Space] {
    try EarlierOverlays.areThere(view, lane.tree)
      ? [Spaces.overlays, Spaces.earlierOverlays] : [Spaces.overlays]
  }

  private func row(_ path: DocumentPath) throws(StoreError) -> Row? {
    for space in try spaces() {
      let key = key(space, path)
      if let value = try view.value(space, key) { return Row(space: space, key: key, value: value) }
    }
    return nil
  }

  /// The overlay of a document.
  ///
  /// - Throws: `damaged`, `newerFormat` for one that a later version wrote.
  func overlay(_ path: DocumentPath) throws(StoreError) -> Overlay? {
    guard let row = try row(path) else { return nil }
    let overlay = try Self.overlay(row)
    guard overlay.path == path else { throw Damage.error(row.space, row.key) }
    return overlay
  }

  /// All overlays, or those of one collection, in the order of their documents.
  ///
  /// - Throws: as `overlay`.
  func all(in collection: CollectionPath? = nil) throws(StoreError) -> [Overlay] {
    var found: [Overlay] = []
    try forEach(collection.map { .collection($0) } ?? .all) { _, path, content in
      Self.overlay(path, content).map { found.append($0.overlay) } != nil
    }
    return found.sorted { $0.path < $1.path }
  }

  /// The documents of a target's source that waiting writes change, as far as their rows alone tell whether they match.
  ///
  /// - Throws: as `overlay`, but for rows of documents that do not match.
  func waiting(for target: DocumentTarget) throws(StoreError) -> WaitingDocuments {
    let sieve = OverlaySieve(target)
    var waiting = WaitingDocuments()
    let wanted: Wanted =
      switch target.source {
      case .document(let path): .document(path)
      case .collection(let collection): .collection(collection)
      case .group(let id): .group(id)
      }
    try forEach(wanted) { space, path, content in
      switch sieve.result(content) {
      case .outside: waiting.addOutside(path)
      case .mayMatch(let open):
        let row = WaitingDocuments.Row(
          path: path, open: open, space: space, content: Bytes(content.rest))
        waiting.add(row)
      }
      return true
    }
    waiting.sort()
    return waiting
  }

  /// The overlay of a row that `waiting(for:)` found.
  ///
  /// - Throws: as `overlay`.
  func overlay(_ row: WaitingDocuments.Row) throws(StoreError) -> Overlay {
    let (overlay, isLater) = row.content.withUnsafeBytes { bytes in
      (Self.overlay(row.path, LentReader(bytes))?.overlay, Self.isLater(LentReader(bytes)))
    }
    if let overlay { return overlay }
    throw isLater ? Self.later : Damage.error(row.space, key(row.space, row.path))
  }

  /// The documents of all overlays, or of those of one collection, in their order; also of those that a later version wrote.
  func paths(in collection: CollectionPath? = nil) throws(StoreError) -> [DocumentPath] {
    var paths: [DocumentPath] = []
    try forEach(collection.map { .collection($0) } ?? .all) { _, path, _ in
      paths.append(path)
      return true
    }
    return paths.sorted()
  }

  /// The document of a row, whatever version wrote it; nil for a damaged row.
  static func path(_ row: Row) -> DocumentPath? {
    Record.open(row.space, row.key, row.value)?.withUnsafeBytes { bytes in
      var reader = LentReader(bytes)
      return path(&reader)
    }
  }

  /// Which overlays are asked for.
  private enum Wanted {
    case all
    case document(DocumentPath)
    case collection(CollectionPath)
    case group(String)

    /// What their rows in a space begin with.
    func beginning(_ space: Space) -> Bytes {
      let isByID = space == Spaces.overlays
      return switch self {
      case .all: []
      case .document(let path): OverlayRows.name(space, path)
      case .collection(let collection):
        (isByID ? OverlayRows.segment(collection.id) : []) + DocumentKey.encode(collection)
      case .group(let id): isByID ? OverlayRows.segment(id) : []
      }
    }

    func contains(_ path: DocumentPath) -> Bool {
      switch self {
      case .all: true
      case .document(let document): path == document
      case .collection(let collection): collection.contains(path)
      case .group(let id): path.collection.id.utf8.elementsEqual(id.utf8)
      }
    }
  }

  /// Lends each row that is asked for: its document and the bytes behind that. Each document comes once; of two rows that of
  /// the newer space is taken.
  ///
  /// - Parameter visit: returns false for bytes that it cannot read.
  /// - Throws: as `overlay`.
  private func forEach(
    _ wanted: Wanted, _ visit: (Space, DocumentPath, LentReader) -> Bool
  ) throws(StoreError) {
    let spaces = try spaces()
    // Few stores have earlier rows.
    var seen: Set<DocumentPath>? = spaces.count > 1 ? [] : nil
    for space in spaces {
      // Where the bytes are longer than a row holds, and of earlier rows of a group, others are among them.
      let start = prefix + wanted.beginning(space).prefix(Self.longestKey)
      var failure: StoreError?
      try view.walk(space, .atOrAfter(start)) { key, value in
        guard key.starts(with: start) else { return .stop }
        failure = value.withUnsafeBytes { value in
          key.withUnsafeBytes { key in
            guard Record.isIntact(space, key, value) else { return Damage.error(space, Bytes(key)) }
            var reader = LentReader(UnsafeRawBufferPointer(rebasing: value[Record.overhead...]))
            guard let path = Self.path(&reader) else { return Damage.error(space, Bytes(key)) }
            guard wanted.contains(path), seen?.insert(path).inserted ?? true else { return nil }
            if visit(space, path, reader) { return nil }
            return Self.isLater(reader) ? Self.later : Damage.error(space, Bytes(key))
          }
        }
        return failure == nil ? .next : .stop
      }
      if let failure { throw failure }
    }
  }

  /// The document of a row, which its payload begins with.
  private static func path(_ reader: inout LentReader) -> DocumentPath? {
    reader.text().flatMap { try? DocumentPath($0) }
  }

  static func overlay(_ row: Row) throws(StoreError) -> Overlay { try content(row).overlay }

  private static func content(
    _ row: Row
  ) throws(StoreError) -> (overlay: Overlay, hasStampedMask: Bool) {
    guard let payload = Record.open(row.space, row.key, row.value) else {
      throw Damage.error(row.space, row.key)
    }
    if let content = payload.withUnsafeBytes(content) { return content }
    guard payload.withUnsafeBytes(isLater) else { throw Damage.error(row.space, row.key) }
    throw later
  }

  /// This is not damage, so the row must not be rebuilt.
  private static var later: StoreError {
    StoreError(
      .newerFormat,
      "What waiting writes do to a document is stored in a way that this version of Conifer does not "
        + "know: open the store with a newer one. Nothing was changed.")
  }

  /// Whether a later version wrote the row of a document.
  func isLater(_ path: DocumentPath) throws(StoreError) -> Bool {
    try row(path).map(Self.isLater) ?? false
  }

  /// Whether a later version wrote a row.
  static func isLater(_ row: Row) -> Bool {
    guard let payload = Record.open(row.space, row.key, row.value) else { return false }
    return payload.withUnsafeBytes(isLater)
  }

  /// Whether bytes that are not a valid row have an effect that only a later version knows.
  private static func isLater(_ payload: UnsafeRawBufferPointer) -> Bool {
    var reader = LentReader(payload)
    return path(&reader) != nil && isLater(reader)
  }

  /// The same of the bytes behind the path.
  private static func isLater(_ content: LentReader) -> Bool {
    var reader = content
    return reader.byte().map { $0 & ~Effect.hasStampedMask > Effect.delete } ?? false
  }

  /// The overlay of a document, if its row lists the fields whose previous values are the
  /// document's. Rows from before the first release do not list them. Nil also for a row of a later
  /// version.
  func overlayWithStamps(_ path: DocumentPath) throws(StoreError) -> Overlay? {
    guard let row = try row(path) else { return nil }
    do throws(StoreError) {
      let content = try Self.content(row)
      return content.hasStampedMask && content.overlay.path == path ? content.overlay : nil
    } catch {
      guard error.code == .newerFormat else { throw error }
      return nil
    }
  }

  private static func content(
    _ payload: UnsafeRawBufferPointer
  ) -> (overlay: Overlay, hasStampedMask: Bool)? {
    var reader = LentReader(payload)
    return path(&reader).flatMap { overlay($0, reader) }
  }

  /// - Parameter content: the bytes behind the path.
  private static func overlay(
    _ path: DocumentPath, _ content: LentReader
  ) -> (overlay: Overlay, hasStampedMask: Bool)? {
    var reader = content
    guard let byte = reader.byte() else { return nil }
    let effect: Overlay.Effect
    switch byte & ~Effect.hasStampedMask {
    case Effect.set:
      guard let fields = DocumentValueCodec.map(&reader) else { return nil }
      effect = .set(fields)
    case Effect.patch:
      guard let fields = DocumentValueCodec.map(&reader), let mask = MutationCodec.mask(&reader)
      else { return nil }
      effect = .patch(fields, mask)
    case Effect.delete: effect = .delete
    default: return nil
    }
    let hasStampedMask = byte & Effect.hasStampedMask != 0
    var stamped = FieldMask.empty
    if hasStampedMask {
      guard let mask = MutationCodec.mask(&reader) else { return nil }
      stamped = mask
    }
    guard reader.remaining == 0 else { return nil }
    return (Overlay(path, effect, stamped: Set(stamped.paths)), hasStampedMask)
  }

  static func payload(_ overlay: Overlay) -> Bytes {
    var writer = ByteWriter()
    writer.sized(overlay.path.description)
    switch overlay.effect {
    case .set(let fields):
      writer.byte(Effect.set | Effect.hasStampedMask)
      DocumentValueCodec.append(fields, to: &writer)
    case .patch(let fields, let mask):
      writer.byte(Effect.patch | Effect.hasStampedMask)
      DocumentValueCodec.append(fields, to: &writer)
      MutationCodec.append(mask, to: &writer)
    case .delete: writer.byte(Effect.delete | Effect.hasStampedMask)
    }
    MutationCodec.append(FieldMask(overlay.stamped), to: &writer)
    return writer.bytes
  }
}
