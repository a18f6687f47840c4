import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Changes one lane of the outbound queue within a commit.
struct QueueEditor {
  /// How many finished writes a lane remembers.
  static let finishedLimit = 1000

  let tx: LeafTransaction
  let reader: QueueReader

  init(_ tx: LeafTransaction, _ lane: Lane, _ order: KeyOrder, _ codec: Codec) throws(StoreError) {
    self.tx = tx
    self.reader = try QueueReader(tx, lane, order, codec)
  }

  /// Appends a write and returns its number.
  func enqueue(_ payload: WritePayload) throws(StoreError) -> WriteID {
    try payload.check()
    var totals = try reader.totals()
    totals.newest = max(totals.newest, try QueueFloor.forWrites(tx))
    totals.newest = try Numbers.next(
      after: totals.newest, last: Numbers.lastWrite, "writes of a queue")
    let id = WriteID(rawValue: totals.newest)
    // Without this check, a write with that number would be overwritten.
    guard try reader.isFree(id) else { throw Damage.error(Spaces.queue, reader.totalsKey) }
    try store(QueueEntry(id: id, payload: payload), &totals)
    try write(totals)
    return id
  }

  /// Puts a write back under its number.
  func restore(_ entry: QueueEntry) throws(StoreError) {
    try checkNumber(entry.id)
    try entry.payload.check()
    var totals = try reader.totals()
    if let old = try reader.find(entry.id) { try remove(old, &totals) }
    if try reader.finished(entry.id) != nil {
      try tx.delete(Spaces.finished, reader.numbered(entry.id))
      totals.finished -= 1
    }
    totals.newest = max(totals.newest, entry.id.rawValue)
    try store(entry, &totals)
    try write(totals)
  }

  /// Records how a write of another store ended.
  func restore(_ end: FinishedWrite) throws(StoreError) {
    try checkNumber(end.id)
    guard try reader.find(end.id) == nil else {
      throw StoreError(
        .invalid, "Write \(end.id.rawValue) is in the queue: finish it instead.")
    }
    var totals = try reader.totals()
    totals.newest = max(totals.newest, end.id.rawValue)
    if try reader.finished(end.id) != nil { totals.finished -= 1 }
    try remember(end.id, end.path, end.outcome, &totals)
    try forgetOldest(&totals)
    try write(totals)
  }

  /// Reserves numbers: new numbers begin after one that another store assigned.
  func reserveNumbers(through id: WriteID) throws(StoreError) {
    try checkNumber(id)
    var totals = try reader.totals()
    totals.newest = max(totals.newest, id.rawValue)
    try write(totals)
  }

  private func checkNumber(_ id: WriteID) throws(StoreError) {
    guard (1...Numbers.lastWrite).contains(id.rawValue) else {
      throw StoreError(
        .invalid,
        "A write's number is between 1 and 2^56 - 1: take one that a store gave, not \(id.rawValue)."
      )
    }
  }

  /// Replaces what a write asks for, and queues it again.
  func replace(_ id: WriteID, _ payload: WritePayload) throws(StoreError) {
    try payload.check()
    var totals = try reader.totals()
    let old = try known(id)
    try remove(old, &totals)
    try store(
      QueueEntry(id: id, payload: payload, state: .queued, attempts: old.entry.attempts), &totals)
    try write(totals)
  }

  /// Moves a write to another state.
  func setState(_ id: WriteID, _ state: WriteState) throws(StoreError) {
    let old = try known(id)
    if case .rejected = old.entry.state, state != .queued {
      throw StoreError(
        .invalid,
        "Write \(id.rawValue) was rejected: queue it again, replace or discard it first.")
    }
    var entry = old.entry
    entry.state = state
    if state == .sent, entry.attempts < .max { entry.attempts += 1 }
    var totals = try reader.totals()
    let section = Self.section(state)
    if section == old.section, old.hasParts {
      // The parts stay; only the small record changes.
      var head = WriteRecord.head(entry)
      head.byte(1)
      head.varint(WriteRecord.content(entry.payload).count)
      let key = reader.key(section, id)
      let before = try tx.get(Spaces.queue, key) { $0.byteCount } ?? 0
      try tx.put(Spaces.queue, key, payload: head.bytes)
      totals.bytes += head.count + Record.overhead - before
    } else {
      try remove(old, &totals)
      try store(entry, &totals)
    }
    try write(totals)
  }

  /// Removes a write from the queue and records how it ended; `forgetOldest()` must be called
  /// afterwards.
  func finish(_ id: WriteID, _ outcome: WriteOutcome) throws(StoreError) {
    let old = try known(id)
    var totals = try reader.totals()
    try remove(old, &totals)
    try remember(id, old.entry.payload.path, outcome, &totals)
    try write(totals)
  }

  /// Forgets the ends of the oldest writes beyond the limit of a lane.
  ///
  /// It is called once in a commit, since a store may have to skip many removed rows to find the
  /// oldest.
  func forgetOldest() throws(StoreError) {
    var totals = try reader.totals()
    guard totals.finished > Self.finishedLimit else { return }
    try forgetOldest(&totals)
    try write(totals)
  }

  private func remember(
    _ id: WriteID, _ path: Path, _ outcome: WriteOutcome, _ totals: inout LaneTotals
  ) throws(StoreError) {
    var writer = ByteWriter()
    switch outcome {
    case .acknowledged: writer.byte(1)
    case .discarded: writer.byte(2)
    case .superseded(let by):
      writer.byte(3)
      writer.varint(by.rawValue)
    }
    NodeCodec.append(path, to: &writer)
    try tx.put(Spaces.finished, reader.numbered(id), payload: writer.bytes)
    totals.finished += 1
  }

  private func forgetOldest(_ totals: inout LaneTotals) throws(StoreError) {
    let excess = totals.finished - Self.finishedLimit
    guard excess > 0 else { return }
    for key in try tx.keys(Spaces.finished, prefix: reader.prefix, limit: excess) {
      try tx.delete(Spaces.finished, key)
      totals.finished -= 1
    }
  }

  /// Discards every write of the lane; numbers continue as before.
  func purge() throws(StoreError) {
    var totals = try reader.totals()
    let isReadable = try reader.isReadable()
    if !isReadable {
      // Of writes whose encryption key is missing, only the numbers are kept.
      try tx.deleteAll(Spaces.finished, prefix: reader.prefix)
      totals.finished = 0
    }
    for section in [QueueReader.Section.unanswered, .rejected] where isReadable {
      // Only the writes whose ends will be remembered need to be read.
      let last = try tx.keys(Spaces.queue, prefix: reader.prefix + [section.rawValue])
        .suffix(Self.finishedLimit)
      for key in last {
        if let found = try reader.find(WriteID(rawValue: StoreKey.number(atEndOf: key))) {
          try remember(found.entry.id, found.entry.payload.path, .discarded, &totals)
        }
      }
    }
    for section in [QueueReader.Section.unanswered, .rejected] {
      try tx.deleteAll(Spaces.queue, prefix: reader.prefix + [section.rawValue])
    }
    try tx.deleteAll(Spaces.queueParts, prefix: reader.prefix)
    try tx.deleteAll(Spaces.queueIndex, prefix: reader.indexPrefix)
    totals.pending = 0
    totals.rejected = 0
    totals.bytes = 0
    try forgetOldest(&totals)
    try write(totals)
  }

  // MARK: Records

  private static func section(_ state: WriteState) -> QueueReader.Section {
    if case .rejected = state { .rejected } else { .unanswered }
  }

  private func known(_ id: WriteID) throws(StoreError) -> QueueReader.Found {
    guard let found = try reader.find(id) else {
      throw StoreError(
        .invalid,
        "Write \(id.rawValue) is not in the queue of \"\(reader.lane.identity)\": it was never "
          + "queued or has ended; look it up among the finished writes.")
    }
    return found
  }

  private func write(_ totals: LaneTotals) throws(StoreError) {
    try tx.put(Spaces.queue, reader.totalsKey, payload: totals.payload)
  }

  private func store(_ entry: QueueEntry, _ totals: inout LaneTotals) throws(StoreError) {
    let section = Self.section(entry.state)
    let content = WriteRecord.content(entry.payload)
    var head = WriteRecord.head(entry)
    if content.count <= WriteRecord.inlineLimit {
      let (method, packed) =
        content.count < WriteRecord.smallestPacked ? (.raw, content) : reader.codec.pack(content)
      head.byte(0)
      head.byte(method.rawValue)
      head.varint(content.count)
      head.append(packed)
    } else {
      head.byte(1)
      head.varint(content.count)
      totals.bytes += try storeParts(entry.id, content)
    }
    let key = reader.key(section, entry.id)
    try tx.put(Spaces.queue, key, payload: head.bytes)
    totals.bytes += key.count + head.count + Record.overhead
    if section == .unanswered {
      totals.pending += 1
      try index(entry)
    } else {
      totals.rejected += 1
    }
  }

  /// Writes the rows by which a waiting write is found by its paths.
  func index(_ entry: QueueEntry) throws(StoreError) {
    for path in entry.payload.touches {
      try tx.put(Spaces.queueIndex, indexRow(path, entry.id), payload: [])
    }
  }

  private func storeParts(_ id: WriteID, _ content: Bytes) throws(StoreError) -> Int {
    var size = 0
    for (part, start) in stride(from: 0, to: content.count, by: WriteRecord.partSize).enumerated() {
      let body = Bytes(content[start..<min(start + WriteRecord.partSize, content.count)])
      let (method, packed) = reader.codec.pack(body)
      var writer = ByteWriter()
      writer.byte(method.rawValue)
      writer.varint(body.count)
      writer.append(packed)
      var key = ByteWriter(reader.numbered(id))
      key.bigEndian(UInt64(part), bytes: 4)
      try tx.put(Spaces.queueParts, key.bytes, payload: writer.bytes)
      size += key.count + writer.count + Record.overhead
    }
    return size
  }

  private func indexRow(_ path: Path, _ id: WriteID) -> Bytes {
    IndexKey.row(reader.indexPrefix, path, reader.order, id.rawValue)
  }

  private func remove(
    _ old: QueueReader.Found, _ totals: inout LaneTotals
  ) throws(StoreError) {
    let id = old.entry.id
    try tx.delete(Spaces.queue, reader.key(old.section, id))
    if old.hasParts { try tx.deleteAll(Spaces.queueParts, prefix: reader.numbered(id)) }
    totals.bytes -= old.size
    if old.section == .unanswered {
      totals.pending -= 1
      for path in old.entry.payload.touches {
        try tx.delete(Spaces.queueIndex, indexRow(path, id))
      }
    } else {
      totals.rejected -= 1
    }
  }
}
