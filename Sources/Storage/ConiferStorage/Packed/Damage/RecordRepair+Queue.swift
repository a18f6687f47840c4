import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Repairing records of the queue that cannot be read.
extension RecordRepair {
  func isWriteDamaged(
    _ key: Bytes, _ stored: Bytes?, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    guard let lane = Self.lane(key, info) else { return stored != nil }
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    if key == reader.totalsKey {
      return try meetsDamage { () throws(StoreError) in
        try reader.totals().newest < reader.highest()
      }
    }
    guard let stored else { return false }
    return try meetsDamage { () throws(StoreError) in
      guard let section = QueueReader.Section(rawValue: key[reader.prefix.count]) else {
        return true
      }
      _ = try reader.found(section, key, stored)
      return false
    }
  }

  func setWriteAside(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    guard let lane = Self.lane(key, info) else {
      return try moveToReports(Spaces.queue, key, .recordSetAside)
    }
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    if key == reader.totalsKey { return try recountLane(reader, newestIsLost: true) }
    let id = WriteID(rawValue: StoreKey.number(atEndOf: key))
    let parts = try tx.entries(Spaces.queueParts, prefix: reader.numbered(id))
    let bytes = (try tx.value(Spaces.queue, key) ?? []) + parts.flatMap(\.value)
    try Incidents.add(
      tx,
      Incident(
        kind: .writeSetAside, tree: info.id, place: "write \(id.rawValue) of \"\(lane.identity)\"",
        bytes: bytes))
    try changeTotals(reader) { totals in
      switch QueueReader.Section(rawValue: key[reader.prefix.count]) {
      case .unanswered: totals.pending -= 1
      case .rejected: totals.rejected -= 1
      case nil: break
      }
      totals.bytes -= key.count + bytes.count
      for (key, _) in parts { totals.bytes -= key.count }
    }
    try tx.delete(Spaces.queue, key)
    for (key, _) in parts { try tx.delete(Spaces.queueParts, key) }
    try rebuildOverlays(lane, info)
    // Its rows in the index now name a write that does not exist; mending the tree removes them.
    try MendingMarker.add(tx, info.id)
  }

  /// Sets aside the whole write to which a damaged part belongs.
  func setPartAside(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    if let write = try write(ofPart: key, info) { return try setWriteAside(write, info) }
    try moveToReports(Spaces.queueParts, key, .recordSetAside)
  }

  /// Sets the parts aside whose write is gone, those of a write in one report: they are all that is left of it.
  func setLonePartsAside(_ info: TreeInfo) throws(StoreError) {
    var after: Bytes?
    while let key = try tx.keys(
      Spaces.queueParts, prefix: StoreKey.prefix(info.id), after: after, limit: 1
    ).first {
      after = key
      guard try write(ofPart: key, info) == nil else { continue }
      let lane = Self.lane(key, info)
      let start = try lane.map { (lane) throws(StoreError) in
        try QueueReader(tx, lane, info.order, tx.leaves.codec).prefix.count
      }
      guard let lane, let start, key.count >= start + 8 else {
        try moveToReports(Spaces.queueParts, key, .writeSetAside)
        continue
      }
      let write = Bytes(key.prefix(start + 8))
      let parts = try tx.entries(Spaces.queueParts, prefix: write)
      let number = StoreKey.number(atEndOf: write)
      try Incidents.add(
        tx,
        Incident(
          kind: .writeSetAside, tree: info.id,
          place: "parts of write \(number) of \"\(lane.identity)\", which is gone",
          bytes: parts.flatMap(\.value)))
      for (part, _) in parts {
        try tx.delete(Spaces.queueParts, part)
        after = part
      }
    }
  }

  /// The key of the write that a part belongs to; nil when there is none.
  private func write(ofPart key: Bytes, _ info: TreeInfo) throws(StoreError) -> Bytes? {
    guard let lane = Self.lane(key, info) else { return nil }
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    let number = Bytes(key[reader.prefix.count...].prefix(8))
    guard number.count == 8 else { return nil }
    for section in [QueueReader.Section.unanswered, .rejected] {
      let write = reader.prefix + [section.rawValue] + number
      if try tx.keys(Spaces.queue, prefix: write, limit: 1).first == write { return write }
    }
    return nil
  }

  func setFinishedAside(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try moveToReports(Spaces.finished, key, .recordSetAside)
    guard let lane = Self.lane(key, info) else { return }
    try changeTotals(try QueueReader(tx, lane, info.order, tx.leaves.codec)) { $0.finished -= 1 }
  }

  /// Changes a lane's totals when a counted record is removed. If the totals cannot be read, they
  /// are repaired first.
  private func changeTotals(
    _ reader: QueueReader, _ change: (inout LaneTotals) -> Void
  ) throws(StoreError) {
    var totals = try reader.totals()
    change(&totals)
    try tx.put(Spaces.queue, reader.totalsKey, payload: totals.payload)
  }

  /// Recounts a lane, by keys and sizes alone.
  func recountLane(_ reader: QueueReader, newestIsLost: Bool) throws(StoreError) {
    var totals = LaneTotals()
    var newest: UInt64 = newestIsLost ? 0 : try reader.totals().newest
    func raiseNewest(_ key: RawSpan) {
      let number = StoreKey.number(atEndOf: Bytes(key))
      // A number above the limit is ignored here, and set aside when it is read.
      if number <= Numbers.lastWrite { newest = max(newest, number) }
    }
    func scan(
      _ space: Space, _ prefix: Bytes, _ visit: (RawSpan, Int) -> Void
    ) throws(StoreError) {
      try tx.walkKeys(space, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix) else { return .stop }
        visit(key, size)
        return .next
      }
    }
    for section in [QueueReader.Section.unanswered, .rejected] {
      try scan(Spaces.queue, reader.prefix + [section.rawValue]) { key, size in
        if section == .unanswered { totals.pending += 1 } else { totals.rejected += 1 }
        totals.bytes += key.byteCount + size
        raiseNewest(key)
      }
    }
    try scan(Spaces.queueParts, reader.prefix) { key, size in
      totals.bytes += key.byteCount + size
    }
    try scan(Spaces.finished, reader.prefix) { key, _ in
      totals.finished += 1
      raiseNewest(key)
    }
    if newestIsLost { newest = max(newest, try QueueFloor.safe(tx)) }
    // The new number is far above every used one, so that no number repeats.
    totals.newest =
      newestIsLost ? Numbers.skipping(newest, last: Numbers.lastWrite) : newest
    try tx.put(Spaces.queue, reader.totalsKey, payload: totals.payload)
  }
}
