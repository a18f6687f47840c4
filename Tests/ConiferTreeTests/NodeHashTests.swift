import Testing

@testable import ConiferTree

@Suite struct NodeHashTests {
  @Test func `SHA-1 gives the standard's vectors`() {
    func hex(_ text: String) -> String {
      var sha = SHA1()
      sha.add(text)
      return sha.finished().bytes.map {
        String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
      }.joined()
    }
    #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    #expect(
      hex(String(repeating: "a", count: 1_000_000)) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f")
  }

  @Test func `SHA-1 does not depend on how the text is cut`() {
    for count in 0..<200 {
      let text = String(repeating: "x", count: count)
      var whole = SHA1()
      whole.add(text)
      var parts = SHA1()
      for byte in text.utf8 { parts.add(byte) }
      #expect(whole.finished() == parts.finished(), "\(count) bytes")
    }
  }

  @Test func `Base 64 gives the standard's vectors`() {
    let vectors = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg=="]
    for (text, base64) in vectors { #expect(Base64.encode([UInt8](text.utf8)) == base64) }
    #expect(Base64.encode([0xFB, 0xFF, 0xFE]) == "+//+")
  }

  @Test func `Leaves have the published hashes`() {
    #expect(NodeHash.hash(4) == "eVih19a6ZDz3NL32uVBtg9KSgQY=")
    #expect(NodeHash.hash(4.0) == "eVih19a6ZDz3NL32uVBtg9KSgQY=")
    #expect(NodeHash.hash(4.5623) == "vf1CL0tIRwXXunHcG/irRECk3lY=")
    #expect(NodeHash.hash("hey guys") == "CUNLXWpCVoJE6z7z1vE57lGaKAU=")
    #expect(NodeHash.hash(true) == "E5z61QM0lN/U2WsOnusszCTkR8M=")
    #expect(NodeHash.hash(2.47) == "EsibHXKcBp2/b/bn/a0C5WffcUU=")
    #expect(NodeHash.hash(.empty) == "")
  }

  @Test func `Nodes have the published hashes`() {
    let plain: Node = [
      "intNode": 4, "doubleNode": 4.5623, "stringNode": "hey guys", "boolNode": true,
    ]
    #expect(NodeHash.hash(plain) == "6Mc4jFmNdrLVIlJJjz2/MakTK9I=")
    let named: Node = ["root": ["c": Node(99, priority: "abc"), ".priority": "def"]]
    #expect(NodeHash.hash(named) == "Fm6tzN4CVEu5WxFDZUdTtqbTVaA=")
    let numbered: Node = ["root": ["c": Node(99, priority: 42), ".priority": 3.14]]
    #expect(NodeHash.hash(numbered) == "B15QCqrzCxrI5zz1y00arWqFRFg=")
  }

  @Test func `Children are hashed in priority order, also when all have a priority`() {
    let node: Node = [
      "a": Node(1, priority: "z"), "b": Node(2, priority: 5), "c": Node(3, priority: 5),
    ]
    let text = ["b", "c", "a"].map { ":\($0):" + NodeHash.hash(node[Key($0)]) }.joined()
    var sha = SHA1()
    sha.add(text)
    #expect(NodeHash.hash(node) == sha.finished().base64)
  }

  @Test func `A hash that is kept does not survive a change`() {
    let node: Node = ["a": ["b": ["c": 1]], "z": 1]
    _ = NodeHash.hash(node)
    let changed = node.setting("a/b/c" as Path, to: 2)
    #expect(NodeHash.hash(changed) == NodeHash.hash(["a": ["b": ["c": 2]], "z": 1]))
    #expect(NodeHash.hash(node.settingPriority(3)) != NodeHash.hash(node))
  }

  @Test func `Hashing from many tasks at once gives one hash`() async {
    let node = Node(children: (0..<200).map { (Key($0), ["x": ["y": Node(.integer(Int64($0)))]]) })
    let hashes = await withTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { NodeHash.hash(node) } }
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(hashes.count == 1)
  }

  @Test func `A thousand levels are hashed, compared and walked`() {
    let path = Path((0..<1000).map { Key("k\($0)") })
    let (a, b) = (Node.empty.setting(path, to: 1), Node.empty.setting(path, to: 1))
    #expect(a == b)
    #expect(a.depth == 1000)
    #expect(NodeHash.hash(a) == NodeHash.hash(b))
    #expect(a != b.setting(path, to: 2))
    #expect(CompoundHash(of: a).paths == [path])
    #expect(a.setting(path, to: .empty).isEmpty)
  }
}
