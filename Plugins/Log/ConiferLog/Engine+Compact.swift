@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// How many bytes are copied in one frame.
  private static let chunk = 256 << 10
  /// How many bytes and keys a commit compacts at most when it is due.
  private static let step = (bytes: 1 << 20, keys: 20_000)

  /// Bytes of sealed segments that nothing points to.
  private var dead: Int { sealed(snapshot).reduce(0) { $0 + $1.dead } }

  private var live: Int {
    snapshot.segments.values.reduce(0) { $0 + max(0, $1.live) }
  }

  /// Sealed segments that can be emptied.
  private func sealed(_ snapshot: Snapshot) -> [Segment] {
    snapshot.segments.values.filter { segment in
      segment.number != active?.segment.number && !stuck.contains(segment.number)
        && !outputs.values.contains { $0.segment === segment }
    }
  }

  /// Does a bounded step of compaction when too much is dead, so that calling `tidy` is not
  /// necessary.
  func compactIfDue() throws(StoreError) {
    guard pass != nil || dead > live + options.slack else { return }
    _ = try compact(
      allowance: (live + options.slack) / 2, bytes: Self.step.bytes, keys: Self.step.keys)
  }

  /// Folds and compacts for about the given time; does nothing while damage is not acknowledged.
  ///
  /// - Returns: whether more is left to do.
  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    guard lost.isEmpty else { return false }
    let end = ContinuousClock.now + slice
    let tables = snapshot.tables
    let tombstones = tables.reduce(0) { $0 + $1.entry.tombstones }
    let entries = tables.reduce(0) { $0 + $1.entry.entries }
    try fold(isFull: !isIndexDamaged && tombstones > entries / 4)
    while try compact(allowance: live / 4, bytes: Self.step.bytes, keys: Self.step.keys) {
      if published.state.withLock({ $0.tailBytes }) > options.tail { try fold() }
      if ContinuousClock.now >= end { return true }
    }
    return false
  }

  /// Copies live values out of the segments that hold the least of them, a step of a pass over the
  /// index.
  ///
  /// Values are copied unchanged: a damaged one stays damaged, and is found when it is read.
  ///
  /// - Parameter allowance: how many dead bytes may stay.
  /// - Returns: whether more is left to do.
  private func compact(
    allowance: Int, bytes: Int, keys: Int
  ) throws(StoreError) -> Bool {
    guard !isIndexDamaged else { return false }
    if pass == nil { try fold() }
    guard var pass = pass ?? choose(allowance).map({ Pass(victims: $0) }) else { return false }
    do throws(StoreError) {
      let isDone = try step(&pass, bytes: bytes, keys: keys)
      self.pass = isDone ? nil : pass
      guard isDone else { return true }
    } catch {
      self.pass = nil
      if error.code == .damaged { isIndexDamaged = true }
      throw error
    }
    // The pass saw every key, so bytes that still count as live there are an error in the counts
    // after a crash.
    let segments = snapshot.segments
    for number in pass.victims { segments[number]?.live = 0 }
    try fold()
    return choose(live / 4) != nil && dead > allowance
  }

  /// The segments to empty so that at most the allowed dead bytes stay; nil when there is nothing
  /// to do.
  private func choose(_ allowance: Int) -> Set<UInt64>? {
    endOutputs { $0.share < 0.7 }
    var dead = dead
    guard dead > allowance else { return nil }
    var victims: Set<UInt64> = []
    var copied = 0
    for segment in sealed(snapshot).sorted(by: { $0.share < $1.share }) {
      // Nearly full ones are left: copying them gains nothing.
      guard dead > allowance / 2, copied < 64 << 20, segment.share < 0.9 else { break }
      victims.insert(segment.number)
      dead -= segment.dead
      copied += segment.live
    }
    return victims.isEmpty ? nil : victims
  }

  /// Seals the segments of copies that match a condition.
  func endOutputs(_ isEnded: (Segment) -> Bool) {
    for (kind, output) in outputs where isEnded(output.segment) {
      handles.register(output.segment)
      outputs[kind] = nil
    }
  }

  /// Continues a pass.
  ///
  /// - Returns: whether it has seen all keys.
  private func step(_ pass: inout Pass, bytes: Int, keys: Int) throws(StoreError) -> Bool {
    let snapshot = snapshot
    var cursor = MergedCursor(snapshot, ascends: true)
    var buffer = ReadBuffer()
    var copies: [SegmentClass: [Copy]] = [:]
    var (waiting, total, seen) = (0, 0, 0)
    try cursor.seek(pass.key)
    while !cursor.isAtEnd, total < bytes, seen < keys {
      let victims = pass.victims
      let found = cursor.current { (key, slot) -> (Bytes, Pointer)? in
        guard case .value(let pointer) = slot, victims.contains(pointer.segment) else {
          return nil
        }
        return (Bytes(key), pointer)
      }
      seen += 1
      if let (key, pointer) = found ?? nil {
        if let value = read(pointer, key, snapshot, &buffer) {
          copies[pointer.isQueue ? .queue : .copies, default: []].append(
            Copy(key: key, pointer: pointer, value: value))
          waiting += value.count
          total += value.count
        } else {
          stuck.insert(pointer.segment)
          pass.victims.remove(pointer.segment)
        }
        if waiting >= Self.chunk {
          try write(&copies)
          waiting = 0
        }
      }
      try cursor.next()
    }
    try write(&copies)
    pass.key = cursor.current { (key, _) in Bytes(key) } ?? []
    return cursor.isAtEnd
  }

  private func read(
    _ pointer: Pointer, _ key: Bytes, _ snapshot: Snapshot, _ buffer: inout ReadBuffer
  ) -> Bytes? {
    (try? snapshot.read(pointer, key, &buffer)).map { Bytes($0) }
  }

  // MARK: Copies

  private struct Copy {
    let key: Bytes
    let pointer: Pointer
    let value: Bytes
  }

  /// Writes the waiting copies, each class into its own segment, and updates the index.
  private func write(_ copies: inout [SegmentClass: [Copy]]) throws(StoreError) {
    for (kind, list) in copies where !list.isEmpty { try write(list, kind) }
    copies = [:]
  }

  private func write(_ list: [Copy], _ kind: SegmentClass) throws(StoreError) {
    var frame = FrameWriter()
    var moved: [(key: Bytes, pointer: Pointer)] = []
    for copy in list {
      let space = Space(id: copy.key.first ?? 0, shape: copy.pointer.isQueue ? .fifo : .blobs)
      let pointer = try frame.copy(
        space, Bytes(copy.key.dropFirst()), copy.value, copy.pointer.checksum)
      moved.append((copy.key, pointer))
    }
    var output = try output(kind, room: frame.total)
    let number = output.segment.number
    var header = FrameHeader(
      editsLength: 0, valuesLength: 0, syncedEnd: 0, sequence: 0, previous: 0, salt: salt,
      editsSum: 0)
    let bytes = frame.bytes(
      &header, FrameHeader.seed(manifest.store, number, output.position))
    try writing("write", output.segment.path) { () throws(FileFailure) in
      try output.file.writeAll(bytes, at: output.position)
    }
    let values = UInt32(output.position + frame.valuesStart)
    output.position += bytes.count
    output.segment.length = output.position
    output.segment.allocated = output.position
    outputs[kind] = output
    unsynced[number] = output.file
    for (copy, place) in zip(list, moved) {
      var pointer = place.pointer
      pointer.segment = number
      pointer.offset += values
      published.state.withLock { $0.move(copy.key, from: copy.pointer, to: pointer) }
    }
  }

  /// The segment that copies of a class go to, with room for a frame.
  private func output(_ kind: SegmentClass, room: Int) throws(StoreError) -> Output {
    if let output = outputs[kind] {
      if output.position + room <= options.segment { return output }
      handles.register(output.segment)
      outputs[kind] = nil
    }
    let number = takeNumber()
    do throws(StoreError) {
      let (segment, file) = try newSegment(number, kind) { _ throws(FileFailure) in }
      published.state.withLock { $0.snapshot.segments[number] = segment }
      let output = Output(segment: segment, file: file, position: FileHeader.size)
      outputs[kind] = output
      return output
    } catch {
      try? files.remove(path(number, .segment))
      throw error
    }
  }
}

extension Segment {
  /// Bytes that nothing points to.
  fileprivate var dead: Int {
    max(0, length - live)
  }

  /// Which part of it is live.
  fileprivate var share: Double {
    Double(live) / Double(max(1, length))
  }
}
