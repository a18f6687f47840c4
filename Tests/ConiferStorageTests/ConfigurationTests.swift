import ConiferKeyValue
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct ConfigurationTests {
  /// A kind with a directory and an option of its own.
  static let shelf = StorageKind(
    name: "shelf", options: [StorageKind.Option("boards", "how many boards")]
  ) { (url, options) throws(StoreError) in
    StorageConfiguration(name: "shelf", location: url.path, options: options) {
      (options) throws(StoreError) in
      try MemoryBackend(MemoryStore(), name: "shelf", options: options)
    }
  }

  static let registry = StorageRegistry([shelf, .memory])

  private func refusal(_ url: String) -> StoreError? {
    do throws(StoreError) {
      _ = try Self.registry.configuration(url)
      return nil
    } catch {
      return error
    }
  }

  @Test func `Every common option of a URL reaches the configuration`() throws {
    let given = try Self.registry.configuration(
      "SHELF:///var/some%20data%3F?budget=10MB&compression=none&durability=process&role=authority"
        + "&boards=3")
    #expect(given.name == "shelf")
    #expect(given.location == "/var/some data?")
    #expect(
      given.options
        == StorageOptions(
          budget: 10 << 20, compression: .none, durability: .process, role: .authority))
    #expect(try Self.registry.configuration("shelf://near").location == "near")
    #expect(try Self.registry.configuration("memory://").options == StorageOptions())
    let defaults = StorageOptions(budget: nil, durability: .relaxed)
    let mixed = try Self.registry.configuration("memory://?budget=2MB", defaults: defaults)
    #expect(mixed.options == StorageOptions(budget: 2 << 20, durability: .relaxed))
    #expect(try mixed.open().traits.budget == 2 << 20)
    for level in Durability.allCases {
      #expect(
        try Self.registry.configuration("memory://?durability=\(level)").options.durability
          == .exactly(level))
    }
    #expect(
      try Self.registry.configuration("memory://?durability=strongest", defaults: defaults).options
        .durability == .strongest)
  }

  @Test(
    arguments: [
      ("1048576", 1 << 20), ("1MB", 1 << 20), ("2mb", 2 << 20), ("2048KB", 2 << 20),
      ("3GB", 3 << 30), ("unlimited", nil),
    ] as [(String, Int?)])
  func `A budget is bytes, or a number with a unit`(text: String, bytes: Int?) throws {
    let found = try Self.registry.configuration("memory://?budget=\(text)")
    #expect(found.options.budget == bytes)
  }

  @Test(arguments: ["zstd", "zstd:1", "zstd:19"])
  func `A compression has a level`(text: String) throws {
    guard Codec.hasZstd else {
      #expect(refusal("memory://?compression=\(text)")?.code == .unsupported)
      return
    }
    let level = text.split(separator: ":").dropFirst().first.flatMap { Int($0) } ?? 5
    let found = try Self.registry.configuration("memory://?compression=\(text)")
    #expect(found.options.compression == .zstd(level: level))
  }

  @Test(arguments: [
    ("rocksdb:///x", "shelf, memory"),
    ("memory://?colour=red", "budget, compression, decoded-cache, durability, role"),
    ("memory://?boards=3", "budget, compression, decoded-cache, durability, role"),
    ("shelf:///x?colour=red", "budget, compression, decoded-cache, durability, role, boards"),
    ("memory", "memory://"), ("", "memory://"), ("://x", "memory://"),
    ("shelf://", "shelf:///path"), ("memory:///x", "no path"),
    ("memory://?budget", "name=value"), ("memory://?budget=", "name=value"),
    ("memory://?budget=1MB&budget=2MB", "twice"),
    ("memory://?budget=1KB", "at least 1MB"), ("memory://?budget=1048575", "at least 1MB"),
    ("memory://?budget=-5MB", "10MB"), ("memory://?budget=MB", "10MB"),
    ("memory://?budget=10TB", "10MB"), ("memory://?budget=9999999999GB", "10MB"),
    ("memory://?compression=gzip", "zstd:LEVEL"), ("memory://?compression=zstd:", "1 to 19"),
    ("memory://?compression=zstd:0", "1 to 19"), ("memory://?compression=zstd:20", "1 to 19"),
    ("memory://?durability=much", "relaxed, process, power or strongest"),
    ("memory://?role=boss", "cache or authority"),
    ("shelf:///%2", "hexadecimal"), ("shelf:///%zz", "hexadecimal"), ("shelf:///%ff", "UTF-8"),
    ("shelf:///a%00b", "zero byte"),
  ])
  func `A URL that is invalid is refused with what there is`(url: String, words: String) throws {
    let error = try #require(refusal(url))
    #expect(error.code == .invalid)
    #expect(error.message.contains(words), "\(error.message)")
  }
}
