import ConiferKeyValue
import Testing

@testable import StorageConformance

/// What a power cut may leave of a disk, and what it may not.
@Suite struct SimulatedDiskTests {
  /// The files of an image, by path.
  private func files(_ disk: SimulatedDisk, _ image: DiskImage) throws -> [String: Bytes] {
    let directory = try System.makeTemporaryDirectory(isFast: true)
    defer { System.removeTree(directory) }
    try disk.write(image, to: directory)
    var found: [String: Bytes] = [:]
    func add(_ below: String) throws {
      for name in System.names(in: directory + "/" + below) {
        let path = below + name
        if System.isDirectory(directory + "/" + path) {
          try add(path + "/")
        } else {
          found[path] = try System.content(of: directory + "/" + path)
        }
      }
    }
    try add("")
    return found
  }

  private func disk(_ entries: [IOEntry]) -> SimulatedDisk {
    var disk = SimulatedDisk()
    for entry in entries { _ = disk.play(entry) }
    return disk
  }

  /// A file with a durable name and durable bytes.
  private let base: [IOEntry] = [
    .create(file: 0, path: "a"), .write(file: 0, offset: 0, [1, 2, 3], isDurable: false),
    .sync(file: 0), .syncDirectory(""),
  ]

  private let images: [DiskImage] = (0..<200).map { .random($0) }

  @Test func `A settled disk is the same in every image`() throws {
    let disk = disk(base)
    #expect(disk.isAllDurable)
    for image in [.everything, .durable] + images.prefix(5) {
      #expect(try files(disk, image) == ["a": [1, 2, 3]])
    }
  }

  @Test func `Synced bytes under a name that was not synced may be gone, whole or there`() throws {
    let disk = disk(Array(base.dropLast()))
    #expect(try files(disk, .durable) == [:])
    #expect(try files(disk, .everything) == ["a": [1, 2, 3]])
    let all = try Set(images.map { try files(disk, $0) })
    #expect(all == [[:], ["a": [1, 2, 3]]])
  }

  @Test func `A write is there or not until a sync, and one through O_DSYNC always`() throws {
    let change: IOEntry = .write(file: 0, offset: 1, [9, 9, 9], isDurable: false)
    let soft = disk(base + [change])
    #expect(try files(soft, .durable) == ["a": [1, 2, 3]])
    let all = try Set(images.map { try files(soft, $0) })
    // The length may come without the bytes.
    #expect(all == [["a": [1, 2, 3]], ["a": [1, 2, 3, 0]], ["a": [1, 9, 9, 9]]])
    let hard = disk(base + [.write(file: 0, offset: 1, [9, 9, 9], isDurable: true)])
    for image in images { #expect(try files(hard, image) == ["a": [1, 9, 9, 9]]) }
    let synced = disk(base + [change, .sync(file: 0)])
    for image in images { #expect(try files(synced, image) == ["a": [1, 9, 9, 9]]) }
  }

  @Test func `A write is torn between sectors and nowhere else`() throws {
    let old = Bytes(repeating: 1, count: 2048)
    let disk = disk([
      .create(file: 0, path: "a"), .write(file: 0, offset: 0, old, isDurable: false),
      .sync(file: 0), .syncDirectory(""),
      .write(file: 0, offset: 100, Bytes(repeating: 2, count: 1500), isDurable: false),
    ])
    var seen: Set<[Bool]> = []
    for image in images {
      let bytes = try #require(try files(disk, image)["a"])
      // What lies in one sector has one fate; what lies outside of the write stays.
      let parts = [100..<512, 512..<1024, 1024..<1536, 1536..<1600]
      var fate: [Bool] = []
      for part in parts {
        let kinds = Set(bytes[part])
        try #require(kinds.count == 1)
        fate.append(kinds == [2])
      }
      seen.insert(fate)
      #expect(bytes[..<100].allSatisfy { $0 == 1 } && bytes[1600...].allSatisfy { $0 == 1 })
    }
    #expect(
      seen.contains([true, true, true, true]) && seen.contains([false, false, false, false]))
    #expect(seen.count > 6)
  }

  @Test func `A rename is old or new, whatever its file was called before`() throws {
    let disk = disk(
      base + [
        .create(file: 1, path: "b"), .write(file: 1, offset: 0, [7], isDurable: false),
        .sync(file: 1), .rename("b", "a"),
      ])
    let all = try Set(images.map { try files(disk, $0) })
    #expect(all == [["a": [1, 2, 3]], ["a": [1, 2, 3], "b": [7]], ["a": [7]]])
    var settled = disk
    _ = settled.play(.syncDirectory(""))
    for image in images { #expect(try files(settled, image) == ["a": [7]]) }
  }

  @Test func `Names in a directory that is gone are gone; removals and lengths may come back`()
    throws
  {
    let inside = disk([
      .makeDirectory("d"), .create(file: 0, path: "d/a"),
      .write(file: 0, offset: 0, [1], isDurable: false), .sync(file: 0), .syncDirectory("d"),
    ])
    #expect(try Set(images.map { try files(inside, $0) }) == [[:], ["d/a": [1]]])
    let removed = disk(base + [.unlink("a")])
    #expect(try Set(images.map { try files(removed, $0) }) == [[:], ["a": [1, 2, 3]]])
    let cut = disk(base + [.resize(file: 0, 1), .resize(file: 0, 4)])
    let all: Set<[String: Bytes]> = [
      ["a": [1, 2, 3]], ["a": [1]], ["a": [1, 2, 3, 0]], ["a": [1, 0, 0, 0]],
    ]
    #expect(try Set(images.map { try files(cut, $0) }) == all)
  }

  @Test func `A file keeps its bytes when another record knows it by another number`() throws {
    let soft = disk(base + [.write(file: 0, offset: 0, [8], isDurable: false)])
    var again = soft.reopened()
    for entry: IOEntry in [
      .open(file: 3, path: "a"), .write(file: 3, offset: 2, [9], isDurable: false),
    ] { _ = again.play(entry) }
    #expect(try files(again, .everything) == ["a": [8, 2, 9]])
    #expect(try files(again, .durable) == ["a": [1, 2, 3]])
    _ = again.play(.sync(file: 3))
    #expect(try files(again, .durable) == ["a": [8, 2, 9]])
  }
}
