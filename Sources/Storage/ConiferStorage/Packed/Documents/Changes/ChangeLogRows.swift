import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// A change log for tracked queries: the time as of which each query's stored matches were
/// complete (its version), and the documents that were read later.
///
/// Rows exist only where a query needs them: for each source (a collection or a group), the
/// documents that were read later than the lowest version of its queries. A key holds a source as
/// its kind and a hash. Two sources with the same hash share their rows, so a query may check more
/// documents than it needs.
struct ChangeLogRows {
  /// The byte after the tree in a row's key.
  private enum Tag {
    static let newest: UInt8 = 0
    static let version: UInt8 = 1
    static let place: UInt8 = 2
    static let change: UInt8 = 3
  }

  private enum Kind {
    static let collection: UInt8 = 1
    static let group: UInt8 = 2
  }

  /// What a row says.
  enum Row {
    /// No stored document was read later than this.
    case newest(Timestamp)
    /// The time as of which a query's matches were complete.
    case version(QueryID, MatchesVersion)
    /// The same time, in the order of sources.
    case place
    /// A document that was read later than the least version of a source.
    case change(DocumentPath)
  }

  private static let sourceLength = 9
  private static let timeLength = 12
  /// How many bytes of a document's path key a row holds.
  private static let longestName = 200

  let view: any OrderedView
  let tree: TreeID

  private var prefix: Bytes { StoreKey.prefix(tree) }

  // MARK: Keys

  var newestKey: Bytes { prefix + [Tag.newest] }

  func versionKey(_ id: QueryID) -> Bytes {
    prefix + [Tag.version] + StoreKey.number(id.rawValue)
  }

  func sourceVersionKey(_ id: QueryID, _ source: Bytes, _ time: Timestamp) -> Bytes {
    prefix + [Tag.place] + source + Self.bytes(time) + StoreKey.number(id.rawValue)
  }

  func changeKey(_ path: DocumentPath, _ source: Bytes, _ time: Timestamp) -> Bytes {
    let (name, row) = (DocumentKey.encode(path), changes(source) + Self.bytes(time))
    guard name.count > Self.longestName else { return row + name }
    return row + name.prefix(Self.longestName) + StoreKey.number(XXHash64.hash(name))
  }

  private func changes(_ source: Bytes) -> Bytes { prefix + [Tag.change] + source }

  /// The payload for a document's row: its path, if the row's key cuts it.
  static func changePayload(_ path: DocumentPath) -> Bytes {
    let name = DocumentKey.encode(path)
    return name.count > longestName ? name : []
  }

  /// A source as encoded in keys; nil for a single document.
  static func source(_ source: DocumentQuery.Source) -> Bytes? {
    switch source {
    case .collection(let path): self.source(Kind.collection, path.description)
    case .group(let id): self.source(Kind.group, id)
    case .document: nil
    }
  }

  /// The sources that a document is in.
  static func sources(of path: DocumentPath) -> [Bytes] {
    let collection = path.collection
    return [
      source(Kind.collection, collection.description), source(Kind.group, collection.id),
    ]
  }

  private static func source(_ kind: UInt8, _ text: String) -> Bytes {
    [kind] + StoreKey.number(XXHash64.hash(Bytes(text.utf8)))
  }

  private static func bytes(_ time: Timestamp) -> Bytes {
    var writer = ByteWriter()
    writer.bigEndian(UInt64(bitPattern: time.seconds) ^ 1 << 63)
    writer.bigEndian(UInt64(UInt32(bitPattern: time.nanoseconds)), bytes: 4)
    return writer.bytes
  }

  private static func time(_ bytes: ArraySlice<UInt8>) -> Timestamp? {
    guard bytes.count == timeLength else { return nil }
    let seconds = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    let nanoseconds = bytes.suffix(4).reduce(0) { $0 << 8 | Int32($1) }
    return try? Timestamp(
      seconds: Int64(bitPattern: seconds ^ 1 << 63), nanoseconds: nanoseconds)
  }

  // MARK: Reading

  /// What a row says.
  ///
  /// - Throws: `damaged`, naming the row, when it is none.
  func row(_ key: Bytes, _ value: Bytes) throws(StoreError) -> Row {
    guard let payload = Record.open(Spaces.changes, key, value), let row = parsed(key, payload)
    else { throw Damage.error(Spaces.changes, key) }
    return row
  }

  private func parsed(_ key: Bytes, _ payload: Bytes) -> Row? {
    guard key.count > 4 else { return nil }
    let rest = key[5...]
    switch key[4] {
    case Tag.newest: return rest.isEmpty ? Self.time(payload[...]).map { .newest($0) } : nil
    case Tag.version:
      guard rest.count == 8, let version = Self.version(payload) else { return nil }
      return .version(QueryID(rawValue: StoreKey.number(atEndOf: key)), version)
    case Tag.place:
      let isWhole = rest.count == Self.sourceLength + Self.timeLength + 8
      return isWhole && payload.isEmpty ? .place : nil
    case Tag.change:
      let name = rest.dropFirst(Self.sourceLength + Self.timeLength)
      guard let time = time(ofRow: key),
        let path = DocumentKey.document(payload.isEmpty ? Bytes(name) : payload),
        changeKey(path, Bytes(rest.prefix(Self.sourceLength)), time) == key,
        Self.changePayload(path) == payload
      else { return nil }
      return .change(path)
    default: return nil
    }
  }

  /// The time in the key of a change or of a version's place.
  private func time(ofRow key: Bytes) -> Timestamp? {
    Self.time(key.dropFirst(5 + Self.sourceLength).prefix(Self.timeLength))
  }

  static func payload(_ version: MatchesVersion) -> Bytes {
    var writer = ByteWriter()
    switch version.source {
    case .collection(let path):
      writer.byte(Kind.collection)
      writer.sized(path.description)
    case .group(let id):
      writer.byte(Kind.group)
      writer.sized(id)
    case .document: break
    }
    return writer.bytes + bytes(version.time)
  }

  private static func version(_ payload: Bytes) -> MatchesVersion? {
    guard payload.count > timeLength, let time = time(payload.suffix(timeLength)) else {
      return nil
    }
    var reader = ByteReader(Bytes(payload.dropLast(timeLength)))
    guard let kind = reader.byte(), let text = reader.text(), reader.isAtEnd else { return nil }
    switch kind {
    case Kind.collection:
      return DocumentKey.collection(text).map { MatchesVersion(.collection($0), at: time) }
    case Kind.group: return MatchesVersion(.group(text), at: time)
    default: return nil
    }
  }

  static func payload(newest time: Timestamp) -> Bytes { bytes(time) }

  /// A time that no stored document was read after; nil when none is known.
  func newest() throws(StoreError) -> Timestamp? {
    guard let value = try view.value(Spaces.changes, newestKey) else { return nil }
    guard case .newest(let time) = try row(newestKey, value) else { return nil }
    return time
  }

  /// The time as of which the matches of a query are complete; nil when that is not known.
  func version(_ id: QueryID) throws(StoreError) -> MatchesVersion? {
    let key = versionKey(id)
    guard let value = try view.value(Spaces.changes, key),
      case .version(_, let version) = try row(key, value)
    else { return nil }
    return version
  }

  /// The lowest version of a source's queries; nil when none has a version.
  func least(_ source: Bytes) throws(StoreError) -> Timestamp? {
    try view.keys(Spaces.changes, prefix: prefix + [Tag.place] + source, limit: 1).first
      .flatMap { time(ofRow: $0) }
  }

  /// The queries of a source whose versions are at or after a time.
  func queries(_ source: Bytes, from time: Timestamp) throws(StoreError) -> [QueryID] {
    let rows = prefix + [Tag.place] + source
    var found: [QueryID] = []
    try view.walkKeys(Spaces.changes, .atOrAfter(rows + Self.bytes(time))) { key, _ in
      guard key.starts(with: rows) else { return .stop }
      found.append(QueryID(rawValue: StoreKey.number(atEndOf: Bytes(key))))
      return .next
    }
    return found
  }

  /// The documents of a source that were read after a time, which must be the version of one of its
  /// queries.
  func changed(_ source: Bytes, after time: Timestamp) throws(StoreError) -> [DocumentPath] {
    let rows = changes(source)
    var found: [(key: Bytes, value: Bytes)] = []
    // Rows of the time itself are not needed.
    let start = rows + Self.bytes(time) + [PathKey.endMark]
    try view.walk(Spaces.changes, .atOrAfter(start)) { key, value in
      guard key.starts(with: rows) else { return .stop }
      found.append((Bytes(key), Bytes(value)))
      return .next
    }
    var paths: [DocumentPath] = []
    for (key, value) in found {
      guard case .change(let path) = try row(key, value) else { continue }
      paths.append(path)
    }
    return paths
  }

  /// Some rows of a source whose documents were read at or before a time; any rows when the time is
  /// nil.
  func rowsUpTo(_ time: Timestamp?, of source: Bytes) throws(StoreError) -> [Bytes] {
    let rows = changes(source)
    let end = time.map { rows + Self.bytes($0) + [PathKey.endMark] }
    var found: [Bytes] = []
    try view.walkKeys(Spaces.changes, .atOrAfter(rows)) { key, _ in
      guard key.starts(with: rows), end.map({ key.compare($0) < 0 }) ?? true else { return .stop }
      found.append(Bytes(key))
      return found.count < 256 ? .next : .stop
    }
    return found
  }
}
