import ConiferKeyValue
import Testing

@testable import ConiferLMDB

/// Files whose pages lead in circles, or by many ways to the same page, are refused in the time that it
/// takes to read each page once.
@Suite struct ForgedTreeTests {
  private static let pageSize = 4096

  /// Which page the branches of a forged tree name.
  enum Shape: CaseIterable {
    /// Each names itself.
    case itself
    /// Two name each other.
    case eachOther
    /// Each names the page below it in all of its nodes; at the end is a leaf.
    case shared
  }

  /// A branch page whose nodes all name one page.
  private static func branch(_ number: Int, naming child: Int, nodes: Int) -> Bytes {
    var page = Bytes(repeating: 0, count: pageSize)
    func put(_ value: Int, _ at: Int, _ bytes: Int) {
      for i in 0..<bytes { page[at + i] = UInt8(truncatingIfNeeded: value >> (8 * i)) }
    }
    let upper = pageSize - 16 * nodes
    put(number, 0, 8)
    put(1, 10, 2)
    put(16 + 2 * nodes, 12, 2)
    put(upper, 14, 2)
    for index in 0..<nodes {
      let node = upper + 16 * index
      put(node, 16 + 2 * index, 2)
      put(child & 0xFFFF_FFFF, node, 4)
      put(child >> 32, node + 4, 2)
      put(index == 0 ? 0 : 2, node + 6, 2)
      page[node + 8] = 7
      page[node + 9] = UInt8(index)
    }
    return page
  }

  /// The bytes of a store whose main tree is forged, in a file that ends before its last page, so that
  /// opening walks all of it.
  private static func forged(_ shape: Shape, levels: Int, nodes: Int) throws -> Bytes {
    let (_, bytes) = try FileTests.filled()
    let newest = bytes[pageSize + 144] > bytes[144] ? pageSize : 0
    var file = Bytes(bytes[..<(bytes.count / pageSize * pageSize)])
    let first = file.count / pageSize
    let leaf = try #require(
      (2..<first).first { file.number(at: $0 * pageSize + 10, bytes: 2) == 2 })
    for level in 0..<(levels - 1) {
      let number = first + level
      let child =
        switch shape {
        case .itself: number
        case .eachOther: level == 0 ? number + 1 : number - 1
        case .shared: level == levels - 2 ? leaf : number + 1
        }
      file += branch(number, naming: child, nodes: nodes)
    }
    func put(_ value: Int, _ at: Int, _ count: Int) {
      for i in 0..<count { file[newest + at + i] = UInt8(truncatingIfNeeded: value >> (8 * i)) }
    }
    put(levels, 94, 2)
    put(first, 128, 8)
    // One page more than there is, which the list of free pages makes up for.
    put(file.count / pageSize, 136, 8)
    return file
  }

  @Test(arguments: Shape.allCases, [(3, 2), (31, 100)])
  func `A forged tree is damaged, for opening, checking and salvage`(
    _ shape: Shape, _ size: (levels: Int, nodes: Int)
  ) throws {
    let directory = TemporaryDirectory()
    let name = directory.path + "/data.mdb"
    let file = try Self.forged(shape, levels: size.levels, nodes: size.nodes)
    Files.write(name, file)
    #expect(FileTests.open(directory.path) == .damaged)
    let isUnchanged = Files.read(name) == file
    #expect(isUnchanged, "opening changed a damaged file")
    var (rows, losses) = (0, 0)
    try LMDBSalvage.read(directory.path) { _, _ in
      rows += 1
    } lost: { _ in
      losses += 1
    }
    #expect(losses > 0 && losses < file.count / Self.pageSize * size.nodes)
    #expect(rows < 10_000)
  }
}
