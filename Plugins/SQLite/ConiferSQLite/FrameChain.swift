import ConiferKeyValue
import ConiferStorage

/// The frames of a write-ahead log whose checksums follow from one another.
///
/// Source: "WAL-Index and WAL File Format" of SQLite's file format documentation.
enum FrameChain {
  private static let headerSize = 32
  private static let frameHeader = 24

  /// How many frames from the beginning of a log are as they were written, or nil when there is no
  /// log or its header cannot be read.
  static func soundFrames(_ path: String, atMost limit: Int) -> Int? {
    guard let header = Platform.read(path, limit: headerSize), header.count == headerSize else {
      return nil
    }
    let magic = header.word(0)
    guard magic & ~1 == 0x377F_0682, header.word(8) == UInt32(DatabaseFile.pageSize) else {
      return nil
    }
    // The magic number's last bit is the byte order of the checksummed words.
    var sum = Sum(isBigEndian: magic & 1 == 1)
    sum.add(header[..<24])
    guard sum.first == header.word(24), sum.second == header.word(28) else { return 0 }
    let size = frameHeader + DatabaseFile.pageSize
    var sound = 0
    var frames = Bytes()
    while sound < limit {
      let at = sound % 256
      if at == 0 {
        frames = Platform.read(path, at: headerSize + sound * size, limit: 256 * size) ?? []
      }
      guard frames.count >= (at + 1) * size else { break }
      let frame = frames[(at * size)..<((at + 1) * size)]
      let head = Bytes(frame.prefix(frameHeader))
      guard head.word(8) == header.word(16), head.word(12) == header.word(20) else { break }
      sum.add(frame.prefix(8))
      sum.add(frame.dropFirst(frameHeader))
      guard sum.first == head.word(16), sum.second == head.word(20) else { break }
      sound += 1
    }
    return sound
  }

  /// The running checksum of a log.
  private struct Sum {
    let isBigEndian: Bool
    var first: UInt32 = 0
    var second: UInt32 = 0

    mutating func add(_ bytes: ArraySlice<UInt8>) {
      bytes.withUnsafeBytes { bytes in
        for at in stride(from: 0, to: bytes.count - 7, by: 8) {
          first &+= word(bytes, at) &+ second
          second &+= word(bytes, at + 4) &+ first
        }
      }
    }

    private func word(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> UInt32 {
      let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)
      return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
    }
  }
}

extension Array where Element == UInt8 {
  /// A big-endian number of 32 bits; 0 when it lies outside.
  fileprivate func word(_ at: Int) -> UInt32 {
    guard at + 4 <= count else { return 0 }
    return self[at..<(at + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
