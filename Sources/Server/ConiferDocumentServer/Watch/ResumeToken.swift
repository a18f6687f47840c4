import ConiferDocument

/// Up to when a client was told everything of its targets.
struct ResumeToken: Sendable, Hashable {
  /// The instance of the database that issued the token.
  let instance: UInt64
  /// Up to when.
  let time: Timestamp

  init(instance: UInt64, time: Timestamp) {
    self.instance = instance
    self.time = time
  }

  /// The token of bytes; nil when they are none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == 16,
      let time = try? Timestamp(
        microseconds: Int64(bitPattern: UInt64(bigEndian: bytes[8...])))
    else { return nil }
    self.init(instance: UInt64(bigEndian: bytes[..<8]), time: time)
  }

  var bytes: [UInt8] {
    instance.bigEndianBytes + UInt64(bitPattern: time.microseconds).bigEndianBytes
  }
}
