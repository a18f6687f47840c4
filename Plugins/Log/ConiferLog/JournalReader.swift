import ConiferKeyValue
import ConiferStorage

/// Reads the frames of the active segment at opening: the valid frames, their end, and the damage.
struct JournalReader {
  /// A valid frame.
  struct Frame {
    /// The offset in the segment.
    let offset: Int
    let header: FrameHeader
    let edits: [FrameEdit]
  }

  private let bytes: Bytes
  private let base: Int
  private let store: Bytes
  private let segment: UInt64

  private(set) var frames: [Frame] = []
  /// Parts of the segment that were synced and cannot be read.
  private(set) var lost: [Range<Int>] = []
  /// The offset of the next frame.
  private(set) var end: Int
  private(set) var sequence: UInt64
  private(set) var previous: UInt64

  /// Reads all frames.
  ///
  /// - Parameters:
  ///   - bytes: the segment's bytes from an offset on.
  ///   - base: that offset.
  ///   - sequence: the first frame's number.
  ///   - previous: the checksum that the first frame names.
  init(
    _ bytes: Bytes, base: Int, store: Bytes, segment: UInt64, sequence: UInt64, previous: UInt64
  ) {
    self.bytes = bytes
    self.base = base
    self.store = store
    self.segment = segment
    self.sequence = sequence
    self.previous = previous
    end = base
    read()
  }

  private func header(_ at: Int) -> FrameHeader? {
    bytes.withUnsafeBytes {
      FrameHeader($0, at: at, seed: FrameHeader.seed(store, segment, base + at))
    }
  }

  private func edits(_ header: FrameHeader, _ at: Int) -> [FrameEdit]? {
    let start = at + FrameHeader.size
    let edits = Bytes(bytes[start..<(start + Int(header.editsLength))])
    guard edits.withUnsafeBytes({ XXHash64.short($0) }) == header.editsSum else { return nil }
    return FrameEdit.all(edits, valuesLength: Int(header.valuesLength))
  }

  private func areValuesSound(_ edits: [FrameEdit], _ header: FrameHeader, _ at: Int) -> Bool {
    let start = at + FrameHeader.size + Int(header.editsLength)
    return bytes.withUnsafeBytes { bytes in
      edits.allSatisfy { edit in
        guard case .value(_, let pointer) = edit else { return true }
        let from = start + Int(pointer.offset)
        let value = UnsafeRawBufferPointer(rebasing: bytes[from..<(from + Int(pointer.length))])
        return XXHash64.short(value) == pointer.checksum
      }
    }
  }

  private mutating func read() {
    var at = 0
    /// Sound headers after the first bad place, searched once.
    var later: [(at: Int, header: FrameHeader)]?
    while at < bytes.count {
      let header = header(at)
      let isNext = header.map { $0.previous == previous && $0.sequence == sequence } ?? false
      if let header, isNext, let edits = edits(header, at) {
        // A damaged value of a synced frame is found when it is read.
        if areValuesSound(edits, header, at) || isSynced(at, &later) {
          frames.append(Frame(offset: base + at, header: header, edits: edits))
          pass(header, &at)
          continue
        }
        break
      }
      guard isSynced(at, &later) else { break }
      if let header, isNext {
        lost.append((base + at)..<(base + at + header.total))
        pass(header, &at)
      } else {
        guard let next = later?.first(where: { $0.at > at }) else { break }
        lost.append((base + at)..<(base + next.at))
        (sequence, previous) = (next.header.sequence, next.header.previous)
        at = next.at
      }
    }
    end = base + at
  }

  private mutating func pass(_ header: FrameHeader, _ at: inout Int) {
    at += header.total
    sequence = header.sequence &+ 1
    previous = header.sum
  }

  /// Whether a later frame says that a place was synced.
  private func isSynced(
    _ at: Int, _ later: inout [(at: Int, header: FrameHeader)]?
  ) -> Bool {
    let headers = later ?? headers(behind: at)
    later = headers
    return headers.contains { $0.at > at && Int($0.header.syncedEnd) > base + at }
  }

  private func headers(behind start: Int) -> [(at: Int, header: FrameHeader)] {
    bytes.withUnsafeBytes { bytes in
      var found: [(at: Int, header: FrameHeader)] = []
      var at = start + 8
      while at + FrameHeader.size <= bytes.count {
        if FrameHeader.isLikely(bytes, at: at),
          let header = FrameHeader(
            bytes, at: at, seed: FrameHeader.seed(store, segment, base + at))
        {
          found.append((at, header))
        }
        at += 8
      }
      return found
    }
  }
}
