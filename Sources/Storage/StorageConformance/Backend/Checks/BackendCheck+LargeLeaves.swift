internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Leaves that do not fit a page, a run or a part.
  static let largeLeaves: [BackendCheck] = [
    BackendCheck(.tree, "huge leaves between small ones", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      let sizes = [70_000, 300_000, 5_000_000, 10 * 1024 * 1024]
      for size in sizes {
        try await pair.set("x", ["a": "small", "b": .text(size), "c": 1])
        try pair.requireNode("x/b", is: .text(size))
        try pair.requireNode("x", NodeSlice(through: "a"), is: ["a": "small"])
        try await pair.set("x/bb", "beside")
        try pair.requireNode("x/c", is: 1)
        // Megabytes take seconds in a debug build: those are only read once more.
        guard size < 1_000_000 else { continue }
        try await pair.reopen()
        try pair.requireSame("with \(size) bytes")
        try await pair.set("x/b", .text(size - 1))
        try pair.requireNode("x/b", is: .text(size - 1))
      }
      try await pair.reopen()
      try pair.requireSame("with the largest")
      try await pair.set("x/b/deeper", "tiny")
      try pair.requireNode(
        "x", is: ["a": "small", "b": ["deeper": "tiny"], "bb": "beside", "c": 1])
      try await pair.set("x", .empty)
      try pair.requireSame("after deleting")
      try requireEqual(try pair.usage(pair.tree).leafBytes, 0, "usage.leafBytes of an empty tree")
    },
    BackendCheck(.tree, "a huge leaf grows and shrinks in place", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      for size in [
        10, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 1_000_000, 100, 600_000, 0,
      ] {
        try await pair.set("a/leaf", Node(.string(.text(size)), priority: "p"))
        try pair.requireNode("a/leaf", is: Node(.string(.text(size)), priority: "p"))
      }
      try pair.requireSame()
    },
    BackendCheck(.tree, "30 leaves of 1 MB under one node", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      for index in 0..<30 { try await pair.set(Path("x/\(index)"), .text(1_000_000 + index)) }
      try pair.requireSame()
      try pair.requireNode(
        "x", NodeSlice(from: "28"), is: ["28": .text(1_000_028), "29": .text(1_000_029)])
      for index in stride(from: 0, to: 30, by: 2) { try await pair.set(Path("x/\(index)"), .empty) }
      try await pair.reopen()
      try pair.requireSame("after deleting half")
    },
    BackendCheck(.tree, "huge leaves that do not compress", .wrongData) { fixture in
      let pair = try await fixture.pair { $0.budget = nil }
      var random = SeededRandom(seed: 21)
      for size in [70_000, 400_000] { try await pair.set(Path("n\(size)"), random.noise(size)) }
      try await pair.set("many", Node(children: (0..<40).map { (Key($0), random.noise(900)) }))
      try await pair.reopen()
      try pair.requireSame()
    },
  ]
}

extension String {
  /// A text of so many bytes that repeats after 61 of them.
  static func text(_ bytes: Int) -> String {
    let part = "It repeats after sixty-one bytes, so that no page is like any"
    let full = String(repeating: part, count: bytes / 61 + 1)
    return String(full.utf8.prefix(bytes)) ?? full
  }
}

extension Node {
  /// A leaf of so many bytes that repeats after 61 of them.
  static func text(_ bytes: Int) -> Node { Node(.string(.text(bytes))) }
}

extension SeededRandom {
  /// A leaf of so many random letters.
  mutating func noise(_ count: Int) -> Node {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      var bits = next()
      for _ in 0..<min(10, count - bytes.count) {
        bytes.append(letters[Int(bits & 63)])
        bits >>= 6
      }
    }
    return Node(.string(String(decoding: bytes, as: UTF8.self)))
  }
}
