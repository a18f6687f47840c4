import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The counts of one lane.
private struct LaneCount {
  var totals = LaneTotals()
  var stored: LaneTotals?
  /// Unfinished writes by number: how many rows of the index they should have.
  var rows: [UInt64: Int] = [:]
  /// Those whose content is in parts.
  var withParts: Set<UInt64> = []
  var highest: UInt64 = 0
  /// Whether all of its writes could be read.
  var isWhole = true
}

extension Verifier {
  /// Checks the outbound queues: each write, its parts, the index by path in both directions, the
  /// totals, the remembered ends, and that no number was assigned twice.
  func checkQueues() throws(StoreError) {
    var lanes: [Lane: LaneCount] = [:]
    for lane in lockedLanes { lanes[lane] = LaneCount(isWhole: false) }
    try scan(Spaces.queue) { (key, value) throws(StoreError) in
      let (reader, own) = try lane(Spaces.queue, key)
      // It is moved out of the dictionary, so that its tables are changed in place.
      var lane = lanes.removeValue(forKey: reader.lane) ?? LaneCount()
      defer { lanes[reader.lane] = lane }
      if own == [0xFF] {
        guard let totals = LaneTotals(Bytes(value.dropFirst(Record.overhead))) else {
          throw Damage.error(Spaces.queue, key)
        }
        lane.stored = totals
        return
      }
      lane.isWhole = lane.isWhole && own.count == 9
      guard own.count == 9, let section = own.first.flatMap(QueueReader.Section.init) else {
        throw Damage.error(Spaces.queue, key)
      }
      try checkWrite(reader, section, key, value, &lane)
    }
    try scan(Spaces.queueParts) { (key, _) throws(StoreError) in
      let (reader, own) = try lane(Spaces.queueParts, key)
      guard own.count == 12 else { throw Damage.error(Spaces.queueParts, key) }
      let lane = lanes[reader.lane]
      if lane?.isWhole ?? true,
        !(lane?.withParts.contains(StoreKey.number(atEndOf: Bytes(own.prefix(8)))) ?? false)
      {
        found(.orphan, Spaces.queueParts, key, "no write refers to it")
      }
    }
    try checkQueueIndex(lanes)
    try checkFinished(&lanes)
    for (lane, count) in lanes { try checkTotals(lane, count) }
  }

  /// The lane that a key belongs to, and what follows the lane in the key.
  private func lane(
    _ space: Space, _ key: Bytes
  ) throws(StoreError) -> (reader: QueueReader, own: Bytes) {
    let tree = StoreKey.tree(key)
    guard let info = trees[tree], let end = key.dropFirst(4).firstIndex(of: 0),
      let identity = String(validating: key[4..<end], as: UTF8.self),
      identity.utf8.count <= Lane.longestIdentity
    else { throw Damage.error(space, key) }
    let reader = try QueueReader(
      snapshot, Lane(tree: tree, identity: identity), info.order, snapshot.leaves.codec)
    return (reader, Bytes(key[(end + 1)...]))
  }

  private func checkWrite(
    _ reader: QueueReader, _ section: QueueReader.Section, _ key: Bytes, _ value: Bytes,
    _ lane: inout LaneCount
  ) throws(StoreError) {
    let number = StoreKey.number(atEndOf: key)
    count { $0.writes += 1 }
    lane.highest = max(lane.highest, number)
    if section == .unanswered { lane.totals.pending += 1 } else { lane.totals.rejected += 1 }
    let write = try reading(Spaces.queue, key, bytes: value.count) { () throws(StoreError) in
      try reader.found(section, key, value)
    }
    guard let write else {
      lane.isWhole = false
      return
    }
    lane.totals.bytes.add(write.size)
    if write.hasParts { lane.withParts.insert(number) }
    var isRejected = false
    if case .rejected = write.entry.state { isRejected = true }
    if isRejected != (section == .rejected) {
      found(.content, Spaces.queue, key, "the write does not stand among those of its state")
    }
    if lane.rows[number] != nil {
      found(.number, Spaces.queue, key, "two writes have this number")
    }
    let paths = section == .unanswered ? write.entry.payload.touches : []
    let rows = Set(
      paths.map { IndexKey.row(reader.indexPrefix, $0, reader.order, number) })
    lane.rows[number] = rows.count
    for row in rows.sorted(by: bytesPrecede)
    where try snapshot.get(Spaces.queueIndex, row, { _ in true }) == nil {
      found(.missing, Spaces.queueIndex, row, "write \(number) is not in the index")
    }
  }

  /// Checks that no row is missing; rows that are too many are orphans.
  private func checkQueueIndex(_ lanes: [Lane: LaneCount]) throws(StoreError) {
    var left = lanes.mapValues(\.rows)
    try scan(Spaces.queueIndex) { (key, _) throws(StoreError) in
      let (reader, own) = try lane(Spaces.queueIndex, key)
      guard own.count >= 9 else { throw Damage.error(Spaces.queueIndex, key) }
      let number = StoreKey.number(atEndOf: key)
      let count = left[reader.lane]?[number] ?? 0
      left[reader.lane]?[number] = count - 1
      if count <= 0, lanes[reader.lane]?.isWhole ?? true {
        found(
          .orphan, Spaces.queueIndex, key, "write \(number) does not wait or changes nothing here")
      }
    }
  }

  private func checkFinished(_ lanes: inout [Lane: LaneCount]) throws(StoreError) {
    var changed = lanes
    try scan(Spaces.finished) { (key, _) throws(StoreError) in
      let (reader, own) = try lane(Spaces.finished, key)
      guard own.count == 8 else { throw Damage.error(Spaces.finished, key) }
      let number = StoreKey.number(atEndOf: key)
      var lane = changed[reader.lane] ?? LaneCount()
      lane.totals.finished += 1
      lane.highest = max(lane.highest, number)
      if lane.rows[number] != nil {
        self.found(.number, Spaces.finished, key, "a write that is not finished has this number")
      }
      changed[reader.lane] = lane
      count { $0.finishedWrites += 1 }
      let finished = try reader.finished(WriteID(rawValue: number))
      if case .superseded(let by)? = finished?.outcome, let stored = lane.stored,
        by.rawValue > stored.newest
      {
        self.found(
          .number, Spaces.finished, key,
          "it was superseded by write \(by.rawValue), and the last number given is \(stored.newest)"
        )
      }
    }
    lanes = changed
  }

  private func checkTotals(_ lane: Lane, _ count: LaneCount) throws(StoreError) {
    guard let info = trees[lane.tree] else { return }
    let key = try QueueReader(snapshot, lane, info.order, snapshot.leaves.codec).totalsKey
    guard let stored = count.stored else {
      if damaged.contains(lane.tree) || lockedLanes.contains(lane) { return }
      return found(.missing, Spaces.queue, key, "the lane's totals are not there")
    }
    func same(_ what: String, _ stored: Int, _ counted: Int) {
      guard stored != counted else { return }
      found(
        .count, Spaces.queue, key, "\(what): the lane counts \(stored), and there are \(counted)")
    }
    if count.isWhole, !damaged.contains(lane.tree) {
      same("waiting writes", stored.pending, count.totals.pending)
      same("rejected writes", stored.rejected, count.totals.rejected)
      same("bytes of writes", stored.bytes, count.totals.bytes)
      same("finished writes", stored.finished, count.totals.finished)
    }
    if count.totals.finished > QueueEditor.finishedLimit {
      found(
        .count, Spaces.queue, key,
        "\(count.totals.finished) finished writes are remembered instead of "
          + "\(QueueEditor.finishedLimit)")
    }
    if stored.newest < count.highest {
      found(
        .number, Spaces.queue, key,
        "write \(count.highest) is there, and the last number given is \(stored.newest)")
    }
  }
}
