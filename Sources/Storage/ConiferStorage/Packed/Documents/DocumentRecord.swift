import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// What the server said of a document, as the value of a leaf: whether it exists, its version, when it was read, and
/// its fields.
enum DocumentRecord {
  private enum State {
    static let found: UInt8 = 1
    static let missing: UInt8 = 2
    static let unknown: UInt8 = 3
    /// Set when a write of this device was accepted and the server has not sent it back.
    static let committed: UInt8 = 0x80
    /// Set when the creation time is stored.
    static let hasCreateTime: UInt8 = 0x40
    static let flags = committed | hasCreateTime
  }

  /// The value of a document's leaf.
  ///
  /// - Throws: `invalid` for a document that no server can have sent: one of which nothing is
  ///   known, one with pending writes, and one whose values are nested deeper than `decode`
  ///   accepts.
  static func encode(_ document: Document) throws(StoreError) -> Bytes {
    var body = ByteWriter()
    let flag =
      (document.writes == .committed ? State.committed : 0)
      | (document.createTime == nil ? 0 : State.hasCreateTime)
    guard document.writes != .pending else {
      throw StoreError(
        .invalid,
        "\(document.path) holds pending writes, which the queue keeps: store what the server said.")
    }
    switch document.state {
    case .found: body.byte(State.found | flag)
    case .missing: body.byte(State.missing | flag)
    case .unknown: body.byte(State.unknown | flag)
    case .unseen:
      throw StoreError(.invalid, "Nothing is known of \(document.path): forget it instead.")
    }
    DocumentValueCodec.append(document.version, to: &body)
    DocumentValueCodec.append(document.readTime, to: &body)
    if let time = document.createTime { DocumentValueCodec.append(time, to: &body) }
    if let fields = document.fields {
      guard DocumentValueCodec.isReadable(fields) else {
        throw StoreError(
          .invalid,
          "The values of \(document.path) nest too deep to be kept. The service allows \(DocumentLimits.depth) levels."
        )
      }
      DocumentValueCodec.append(fields, to: &body)
    }
    var writer = ByteWriter()
    writer.reserveCapacity(body.count + 6)
    writer.byte(ValueTag.document)
    writer.sized(body.bytes)
    return writer.bytes
  }

  /// When the document that a value holds was read, or nil when it holds none that this version knows.
  static func readTime(_ value: UnsafeRawBufferPointer) -> Timestamp? {
    var reader = LentReader(value)
    // Its tag, the size of its body, its state and its version.
    guard reader.byte() == ValueTag.document, reader.size() != nil, let state = reader.byte(),
      state & ~State.flags <= State.unknown, DocumentValueCodec.timestamp(&reader) != nil
    else { return nil }
    return DocumentValueCodec.timestamp(&reader)
  }

  /// Whether a value holds a document that exists and fails a condition. False when it fails none,
  /// and when the bytes hold something else; decoding them reports that.
  static func fails(_ value: UnsafeRawBufferPointer, _ conditions: [FieldCondition]) -> Bool {
    var reader = LentReader(value)
    // The size of its body, its state, its version, when it was read and made.
    guard reader.byte() == ValueTag.document, reader.size() != nil, let state = reader.byte(),
      state & ~State.flags == State.found,
      reader.takeVarints(state & State.hasCreateTime == 0 ? 4 : 6) != nil
    else { return false }
    return DocumentValueCodec.fails(&reader, conditions)
  }

  /// The document that a value holds, or nil when it holds none.
  ///
  /// - Parameter selection: the fields that are decoded; nil for all.
  static func decode(
    _ path: DocumentPath, _ value: UnsafeRawBufferPointer, _ selection: FieldSelection? = nil
  ) -> Document? {
    var outer = LentReader(value)
    guard outer.byte() == ValueTag.document, let count = outer.size(), let body = outer.take(count),
      outer.remaining == 0
    else { return nil }
    var reader = LentReader(body)
    guard let byte = reader.byte(), let version = DocumentValueCodec.timestamp(&reader),
      let readTime = DocumentValueCodec.timestamp(&reader)
    else { return nil }
    var createTime: Timestamp?
    if byte & State.hasCreateTime != 0 {
      guard let time = DocumentValueCodec.timestamp(&reader) else { return nil }
      createTime = time
    }
    let state: Document.State
    switch byte & ~State.flags {
    case State.found:
      let fields =
        if let selection { DocumentValueCodec.map(&reader, selection) } else {
          DocumentValueCodec.map(&reader)
        }
      guard let fields else { return nil }
      state = .found(fields)
    case State.missing: state = .missing
    case State.unknown: state = .unknown
    default: return nil
    }
    guard reader.remaining == 0 else { return nil }
    return Document(
      path, state, version: version, readTime: readTime, createTime: createTime,
      writes: byte & State.committed != 0 ? .committed : .synced)
  }

  /// The entry of a document, which refers to parts when it is large; a commit gives them their number.
  static func entry(_ document: Document) throws(StoreError) -> Entry {
    let key = DocumentKey.encode(document.path)
    let value = try encode(document)
    guard value.count > LargeLeaf.threshold else { return Entry(key: key, value: value) }
    let reference = LargeLeafReference(number: 0, count: value.count, rest: [])
    return Entry(key: key, value: reference.value, content: value)
  }

  // MARK: What cannot be read

  /// Whether this version can read a document.
  enum Readability {
    case readable
    /// A later version wrote it. It is not damaged, and stays.
    case newer
    case damaged
  }

  /// Whether the value of a document can be read.
  static func readability(_ path: DocumentPath, _ value: UnsafeRawBufferPointer) -> Readability {
    if decode(path, value) != nil { return .readable }
    return isNewer(value) ? .newer : .damaged
  }

  /// Whether an entry can be read; of a document that is stored in chunks only the reference to these.
  static func readability(_ entry: Entry) -> Readability {
    guard let path = DocumentKey.document(entry.key) else { return .damaged }
    guard !entry.isLargeLeaf else {
      return LargeLeafReference(entry.value)?.rest.isEmpty == true ? .readable : .damaged
    }
    return entry.value.withUnsafeBytes { readability(path, $0) }
  }

  /// Whether a value that cannot be read has a state, or a field with a kind of value, that only a later version knows.
  static func isNewer(_ value: UnsafeRawBufferPointer) -> Bool {
    var outer = LentReader(value)
    guard outer.byte() == ValueTag.document, let count = outer.size(), let body = outer.take(count),
      outer.remaining == 0
    else { return false }
    var reader = LentReader(body)
    guard let byte = reader.byte() else { return false }
    let state = byte & ~State.flags
    guard state <= State.unknown else { return true }
    guard state == State.found,
      reader.takeVarints(byte & State.hasCreateTime == 0 ? 4 : 6) != nil
    else { return false }
    return DocumentValueCodec.holdsNewerValue(&reader)
  }

  /// The error for a document that a later version wrote.
  static let newerFormat = StoreError(
    .newerFormat,
    "A document is stored in a way that this version of Conifer does not know: open the store with a "
      + "newer one. Nothing was changed.")
}
