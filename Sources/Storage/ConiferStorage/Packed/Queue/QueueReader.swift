import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Reads the outbound queue of one lane.
///
/// Keys: tree, identity, zero, then a section and the write's number: unanswered writes,
/// rejected ones, and last the totals.
struct QueueReader {
  /// The part of a lane that a write stands in, as a byte of its key.
  enum Section: UInt8 {
    /// Not finally answered: queued, sent or of unknown outcome.
    case unanswered = 1
    case rejected = 2
  }

  let view: any OrderedView
  let lane: Lane
  let order: KeyOrder
  let codec: Codec

  /// A reader of a lane.
  ///
  /// - Throws: `invalid` for an identity out of bounds.
  init(_ view: any OrderedView, _ lane: Lane, _ order: KeyOrder, _ codec: Codec) throws(StoreError)
  {
    if let fault = Lane.fault(ofIdentity: lane.identity) { throw fault }
    self.view = view
    self.lane = lane
    self.order = order
    self.codec = codec
  }

  var prefix: Bytes { Self.prefix(lane) }

  /// The prefix of the keys of a lane's records.
  static func prefix(_ lane: Lane) -> Bytes {
    StoreKey.prefix(lane.tree) + Bytes(lane.identity.utf8) + [0]
  }

  var totalsKey: Bytes { prefix + [0xFF] }

  func key(_ section: Section, _ id: WriteID) -> Bytes {
    prefix + [section.rawValue] + StoreKey.number(id.rawValue)
  }

  func numbered(_ id: WriteID) -> Bytes { prefix + StoreKey.number(id.rawValue) }

  func totals() throws(StoreError) -> LaneTotals {
    guard let value = try view.value(Spaces.queue, totalsKey) else {
      // If the lane were taken for a new one, its numbers would be assigned twice.
      for space in [Spaces.queue, Spaces.finished] {
        guard try view.keys(space, prefix: prefix, limit: 1).isEmpty else {
          throw Damage.error(Spaces.queue, totalsKey)
        }
      }
      return LaneTotals()
    }
    guard let payload = Record.open(Spaces.queue, totalsKey, value),
      let totals = LaneTotals(payload)
    else { throw Damage.error(Spaces.queue, totalsKey) }
    return totals
  }

  /// The highest number of an existing or remembered write, 0 for none.
  func highest() throws(StoreError) -> UInt64 {
    let last = WriteID(rawValue: Numbers.lastWrite)
    var highest: UInt64 = 0
    for (space, prefix, end) in [
      (Spaces.queue, prefix + [Section.unanswered.rawValue], key(.unanswered, last)),
      (Spaces.queue, prefix + [Section.rejected.rawValue], key(.rejected, last)),
      (Spaces.finished, prefix, numbered(last)),
    ] {
      guard let key = try view.lastKey(space, prefix, atOrBefore: end) else { continue }
      highest = max(highest, StoreKey.number(atEndOf: key))
    }
    return highest
  }

  /// The totals in the terms of the contract.
  func publicTotals() throws(StoreError) -> QueueTotals {
    let totals = try totals()
    var oldest: WriteID?
    if totals.pending > 0 {
      oldest = try view.keys(Spaces.queue, prefix: prefix + [Section.unanswered.rawValue], limit: 1)
        .first.map { WriteID(rawValue: StoreKey.number(atEndOf: $0)) }
    }
    return QueueTotals(
      pending: totals.pending, rejected: totals.rejected, bytes: totals.bytes, oldest: oldest,
      newest: totals.newest == 0 ? nil : WriteID(rawValue: totals.newest))
  }

  /// An entry with its section and the size of its record.
  struct Found {
    let section: Section
    let entry: QueueEntry
    let size: Int
    let hasParts: Bool
  }

  func find(_ id: WriteID) throws(StoreError) -> Found? {
    for section in [Section.unanswered, .rejected] {
      let key = key(section, id)
      if let value = try view.value(Spaces.queue, key) {
        return try found(section, key, value)
      }
    }
    return nil
  }

  /// Whether no existing or remembered write has a number.
  func isFree(_ id: WriteID) throws(StoreError) -> Bool {
    if try view.get(Spaces.finished, numbered(id), { _ in }) != nil { return false }
    for section in [Section.unanswered, .rejected] {
      if try view.get(Spaces.queue, key(section, id), { _ in }) != nil { return false }
    }
    return true
  }

  func found(_ section: Section, _ key: Bytes, _ value: Bytes) throws(StoreError) -> Found {
    // A function, since composing the message takes longer than reading the write.
    func damage() -> StoreError { Damage.error(Spaces.queue, key) }
    let id = WriteID(rawValue: StoreKey.number(atEndOf: key))
    guard (1...Numbers.lastWrite).contains(id.rawValue), key == self.key(section, id),
      let payload = Record.open(Spaces.queue, key, value),
      let record = try WriteRecord(payload, codec)
    else { throw damage() }
    var size = key.count + value.count
    let content: Bytes
    let hasParts: Bool
    switch record.body {
    case .inline(let bytes): (content, hasParts) = (bytes, false)
    case .parts(let count):
      var bytes = Bytes()
      for (key, value) in try view.entries(Spaces.queueParts, prefix: numbered(id)) {
        guard let part = try partBody(key, value) else { throw damage() }
        size += key.count + value.count
        bytes += part
      }
      guard bytes.count == count else { throw damage() }
      (content, hasParts) = (bytes, true)
    }
    guard let payload = WriteRecord.payload(content, record.version) else { throw damage() }
    let entry = QueueEntry(
      id: id, payload: payload, state: record.state, attempts: record.attempts)
    return Found(section: section, entry: entry, size: size, hasParts: hasParts)
  }

  private func partBody(_ key: Bytes, _ value: Bytes) throws(StoreError) -> Bytes? {
    guard let payload = Record.open(Spaces.queueParts, key, value) else { return nil }
    var reader = ByteReader(payload)
    guard let method = reader.byte(), let rawCount = reader.size(),
      let packed = reader.take(reader.remaining)
    else { return nil }
    return try codec.unpack(Codec.method(method), packed, rawCount: rawCount)
  }

  /// A window of the writes of one section, by number.
  func window(_ section: Section, after: WriteID?, limit: Int) throws(StoreError) -> [QueueEntry] {
    var entries: [QueueEntry] = []
    for (key, value) in try view.entries(
      Spaces.queue, prefix: prefix + [section.rawValue], after: after.map { self.key(section, $0) },
      limit: limit)
    {
      entries.append(try found(section, key, value).entry)
    }
    return entries
  }

  /// Whether a waiting write may change something at a path or below it.
  func isTouched(_ path: Path) throws(StoreError) -> Bool {
    try !view.keys(
      Spaces.queueIndex, prefix: indexPrefix + IndexKey.path(path, order), limit: 1
    ).isEmpty
  }

  /// The numbers of the waiting writes that change something at, above or below a path.
  func touching(_ path: Path) throws(StoreError) -> [WriteID] {
    var ids: [WriteID] = []
    for id in try candidates(touching: path) {
      guard let found = try find(id), found.section == .unanswered else { continue }
      // Rows of long paths are cut, so the write itself decides.
      let touches = found.entry.payload.touches.contains {
        $0.contains(path) || path.contains($0)
      }
      if touches { ids.append(id) }
    }
    return ids
  }

  /// The numbers of the writes with a row at, above or below a path, in order. Rows of long paths are cut: some may be of
  /// another path.
  func candidates(touching path: Path) throws(StoreError) -> [WriteID] {
    let lane = indexPrefix
    var rows = try view.keys(Spaces.queueIndex, prefix: lane + IndexKey.path(path, order))
    var place = path.parent
    while let above = place {
      rows += try view.keys(Spaces.queueIndex, prefix: IndexKey.exact(lane, above, order))
      place = above.parent
    }
    return Set(rows.map { WriteID(rawValue: StoreKey.number(atEndOf: $0)) }).sorted()
  }

  /// The oldest waiting write with a row of a path; nil when there is none. Rows of long paths are cut: it may be of
  /// another path.
  func oldest(at path: Path) throws(StoreError) -> WriteID? {
    try view.keys(Spaces.queueIndex, prefix: IndexKey.exact(indexPrefix, path, order), limit: 1)
      .first.map { WriteID(rawValue: StoreKey.number(atEndOf: $0)) }
  }

  /// The newest waiting writes with a row of a path, the newest first. Rows of long paths are cut: some may be of
  /// another path.
  func newest(at path: Path, limit: Int) throws(StoreError) -> [WriteID] {
    let prefix = IndexKey.exact(indexPrefix, path, order)
    var ids: [WriteID] = []
    try view.walkKeys(Spaces.queueIndex, .atOrBefore(prefix + Bytes(repeating: 0xFF, count: 8))) {
      key, _ in
      guard key.starts(with: prefix) else { return .stop }
      ids.append(WriteID(rawValue: StoreKey.number(atEndOf: Bytes(key))))
      return ids.count < limit ? .next : .stop
    }
    return ids
  }

  /// Whether the lane's oldest records can be decrypted, if they are encrypted with a key of its
  /// own.
  func isReadable() throws(StoreError) -> Bool {
    let beginnings = [
      (Spaces.queue, prefix + [Section.unanswered.rawValue]),
      (Spaces.queue, prefix + [Section.rejected.rawValue]), (Spaces.finished, prefix),
    ]
    do throws(StoreError) {
      for (space, prefix) in beginnings {
        guard let key = try view.keys(space, prefix: prefix, limit: 1).first else { continue }
        _ = try view.get(space, key) { _ in }
      }
      return true
    } catch {
      // Damage is reported when the record is read.
      if error.code == .wrongKey { return false }
      if error.code == .damaged { return true }
      throw error
    }
  }

  var indexPrefix: Bytes { prefix }

  func finished(_ id: WriteID) throws(StoreError) -> FinishedWrite? {
    let key = numbered(id)
    guard let value = try view.value(Spaces.finished, key) else { return nil }
    func damage() -> StoreError { Damage.error(Spaces.finished, key) }
    guard (1...Numbers.lastWrite).contains(id.rawValue),
      let payload = Record.open(Spaces.finished, key, value)
    else { throw damage() }
    var reader = ByteReader(payload)
    let outcome: WriteOutcome
    switch reader.byte() {
    case 1: outcome = .acknowledged
    case 2: outcome = .discarded
    case 3:
      guard let by = reader.varint() else { throw damage() }
      outcome = .superseded(by: WriteID(rawValue: by))
    case .some:
      throw StoreError(
        .unsupported, "A write ended in a way this version does not know: use a newer Conifer.")
    case nil: throw damage()
    }
    guard let path = NodeCodec.path(&reader) else { throw damage() }
    return FinishedWrite(id: id, outcome: outcome, path: path)
  }

  /// A window of the remembered ends, by number.
  func finished(after: WriteID?, limit: Int) throws(StoreError) -> [FinishedWrite] {
    let keys = try view.keys(
      Spaces.finished, prefix: prefix, after: after.map { numbered($0) }, limit: limit)
    var ends: [FinishedWrite] = []
    for key in keys {
      if let end = try finished(WriteID(rawValue: StoreKey.number(atEndOf: key))) {
        ends.append(end)
      }
    }
    return ends
  }

  /// The lanes of a tree: the walk reads a lane's first row and jumps to the next lane.
  ///
  /// - Parameter space: one whose keys begin with a lane; every lane has its totals in the queue's.
  static func lanes(
    _ view: any OrderedView, _ tree: TreeID, in space: Space = Spaces.queue
  ) throws(StoreError) -> [Lane] {
    let prefix = StoreKey.prefix(tree)
    var lanes: [Lane] = []
    try view.walkKeys(space, .atOrAfter(prefix)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      let bytes = Bytes(key)
      guard let end = bytes[4...].firstIndex(of: 0) else { return .next }
      if let identity = String(validating: bytes[4..<end], as: UTF8.self) {
        lanes.append(Lane(tree: tree, identity: identity))
      }
      return .jump(Bytes(bytes[..<end]) + [1])
    }
    return lanes
  }
}
