/// SHA-1 (FIPS 180-4), the hash function by which the Realtime Database identifies versions of
/// data; bytes are added in pieces.
///
/// It is not used for security.
struct SHA1 {
  /// The five words of a finished hash.
  struct Digest: Hashable, Sendable {
    var a: UInt32 = 0x6745_2301
    var b: UInt32 = 0xEFCD_AB89
    var c: UInt32 = 0x98BA_DCFE
    var d: UInt32 = 0x1032_5476
    var e: UInt32 = 0xC3D2_E1F0

    /// The twenty bytes, high bytes first.
    var bytes: [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(20)
      for word in [a, b, c, d, e] {
        for shift in [24, 16, 8, 0] as [UInt32] {
          bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
      }
      return bytes
    }

    /// The twenty bytes in base 64.
    var base64: String { Base64.encode(bytes) }

    /// One of the eighty steps over a block.
    @inline(__always)
    fileprivate mutating func step(_ f: UInt32, _ word: UInt32) {
      let next = (a &<< 5 | a &>> 27) &+ f &+ e &+ word
      (e, d, c, b, a) = (d, c, b &<< 30 | b &>> 2, a, next)
    }
  }

  private var state = Digest()
  private var pending: [UInt8] = []
  /// The bytes added so far.
  private(set) var count = 0

  init() { pending.reserveCapacity(96) }

  /// Adds the UTF-8 bytes of a text.
  mutating func add(_ text: String) {
    text.lendUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  /// Adds one byte.
  mutating func add(_ byte: UInt8) {
    count += 1
    pending.append(byte)
    if pending.count >= 1024 { drain() }
  }

  /// Adds bytes.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    count += bytes.count
    pending.append(contentsOf: bytes)
    if pending.count >= 1024 { drain() }
  }

  /// The hash of all that was added.
  consuming func finished() -> Digest {
    let bits = UInt64(count) * 8
    pending.append(0x80)
    while pending.count % 64 != 56 { pending.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) {
      pending.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
    drain()
    return state
  }

  /// Hashes all complete blocks.
  private mutating func drain() {
    let whole = pending.count & ~63
    var state = state
    pending.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
        for start in stride(from: 0, to: whole, by: 64) {
          SHA1.mix(UnsafeRawBufferPointer(rebasing: bytes[start..<start + 64]), words, &state)
        }
      }
    }
    self.state = state
    pending.removeFirst(whole)
  }

  private static func mix(
    _ block: UnsafeRawBufferPointer, _ w: UnsafeMutableBufferPointer<UInt32>, _ h: inout Digest
  ) {
    for i in 0..<16 {
      w[i] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self))
    }
    for i in 16..<80 {
      let x = w[i &- 3] ^ w[i &- 8] ^ w[i &- 14] ^ w[i &- 16]
      w[i] = x &<< 1 | x &>> 31
    }
    var v = h
    for i in 0..<20 { v.step(v.d ^ (v.b & (v.c ^ v.d)), 0x5A82_7999 &+ w[i]) }
    for i in 20..<40 { v.step(v.b ^ v.c ^ v.d, 0x6ED9_EBA1 &+ w[i]) }
    for i in 40..<60 { v.step((v.b & v.c) | (v.d & (v.b | v.c)), 0x8F1B_BCDC &+ w[i]) }
    for i in 60..<80 { v.step(v.b ^ v.c ^ v.d, 0xCA62_C1D6 &+ w[i]) }
    h.a &+= v.a
    h.b &+= v.b
    h.c &+= v.c
    h.d &+= v.d
    h.e &+= v.e
  }
}
