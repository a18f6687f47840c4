/// The token that a client sends with each request on a stream of writes: it names the stream that
/// it continues, and the last batch whose answer the client has.
struct WriteToken: Sendable, Hashable {
  /// The stream, or the first one of those that went on with one another.
  let stream: UInt64
  /// The number of the last batch whose answer the client has; 0 for none.
  let answered: Int64

  init(stream: UInt64, answered: Int64) {
    self.stream = stream
    self.answered = answered
  }

  /// The token of bytes; nil when they are none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    stream = UInt64(bigEndian: bytes[..<8])
    guard let answered = Int64(exactly: UInt64(bigEndian: bytes[8...])) else { return nil }
    self.answered = answered
  }

  var bytes: [UInt8] { stream.bigEndianBytes + UInt64(answered).bigEndianBytes }
}

extension UInt64 {
  /// The number of at most eight bytes, the highest first.
  init(bigEndian bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  /// The eight bytes, the highest first.
  var bigEndianBytes: [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) }
  }
}
