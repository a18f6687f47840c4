import Testing

@testable import ConiferWire

@Suite struct `The digest MD5` {
  /// The test suite of RFC 1321.
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"),
    ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    (
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
      "d174ab98d277d9f5a5611c2c9f419d9f"
    ),
    (
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "57edf4a22be3c955ac49da2e2107b67a"
    ),
  ])
  func `is as the vectors of its specification say`(text: String, digest: String) {
    let words = MD5(text.utf8).words
    let hex = [words.0, words.1].map { word in
      let digits = String(word.byteSwapped, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    #expect(hex.joined() == digest)
  }

  @Test func `takes messages whose padding needs another block`() {
    // Lengths around a block's end have digests of their own, and trap nowhere.
    let digests = Set((50...70).map { MD5(Array(repeating: 1, count: $0)).words.0 })
    #expect(digests.count == 21)
  }
}

@Suite struct `A bloom filter` {
  @Test func `holds all its names, and few others`() throws {
    let names = (0..<50).map { "projects/p/databases/(default)/documents/c/\($0)" }
    let filter = try #require(BloomFilter(of: names, bitCount: 795, hashCount: 7))
    #expect(names.allSatisfy(filter.mayContain))
    let others = (0..<200).filter { filter.mayContain("other/\($0)") }
    #expect(others.count < 20)
  }

  @Test func `counts bits from the lowest of the first byte`() throws {
    let filter = try #require(BloomFilter(bitmap: [0x02, 0x00], padding: 0, hashCount: 1))
    #expect(
      (0..<64).allSatisfy { number in
        filter.mayContain("\(number)") == (MD5("\(number)".utf8).words.0 % 16 == 1)
      })
  }

  @Test func `that is malformed or empty says nothing`() {
    #expect(BloomFilter(bitmap: [], padding: 0, hashCount: 1) == nil)
    #expect(BloomFilter(bitmap: [1], padding: 8, hashCount: 1) == nil)
    #expect(BloomFilter(bitmap: [1], padding: -1, hashCount: 1) == nil)
    #expect(BloomFilter(bitmap: [1], padding: 0, hashCount: 0) == nil)
    #expect(BloomFilter(bitmap: [1], padding: 0, hashCount: 101) == nil)
    #expect(BloomFilter(of: ["a"], bitCount: 8, hashCount: .max) == nil)
    #expect(BloomFilter(bitmap: [1], padding: 7, hashCount: 1)?.mayContain("a") == true)
  }
}
