internal import ConiferKeyValue

/// A file's content: the bytes that were written, and zeros up to its length.
struct FileBytes: Sendable {
  /// The bytes from the beginning; the rest of the file reads as zeros.
  private(set) var bytes = Bytes()
  private(set) var length = 0

  /// Larger sizes indicate a broken record.
  private static let longest = 1 << 32

  init() {}

  init(_ bytes: Bytes) {
    self.bytes = bytes
    length = bytes.count
  }

  /// Writes a part of some bytes at an offset.
  mutating func write(_ new: Bytes, _ part: Range<Int>, at offset: Int) {
    guard !part.isEmpty, part.upperBound <= new.count, (0...Self.longest).contains(offset) else {
      return
    }
    let end = offset + part.count
    if bytes.count < end { bytes += Bytes(repeating: 0, count: end - bytes.count) }
    bytes.withUnsafeMutableBytes { room in
      new.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: room[offset..<end])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[part]))
      }
    }
    length = max(length, end)
  }

  /// How many bytes of the file a write would make different.
  func changed(by new: Bytes, at offset: Int) -> Int {
    guard (0...Self.longest).contains(offset) else { return 0 }
    return bytes.withUnsafeBytes { old in
      new.withUnsafeBytes { new in
        let known = min(max(0, old.count - offset), new.count)
        var changed = 0
        for i in 0..<known where old[offset + i] != new[i] { changed += 1 }
        for i in known..<new.count where new[i] != 0 { changed += 1 }
        return changed
      }
    }
  }

  /// Sets the length.
  mutating func resize(_ new: Int) {
    guard (0...Self.longest).contains(new) else { return }
    if new < bytes.count { bytes.removeLast(bytes.count - new) }
    length = new
  }

  /// Applies a change.
  mutating func apply(_ change: SimulatedDisk.Change) {
    switch change {
    case .durable(let offset, let bytes), .write(let offset, let bytes):
      write(bytes, 0..<bytes.count, at: offset)
    case .resize(let length): resize(length)
    }
  }
}
