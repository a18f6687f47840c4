// swift-tools-version: 6.2
import PackageDescription

/// Language settings of every target, in one place.
/// - ExistentialAny (SE-0335): a witness-table call is spelled `any`.
/// - InternalImportsByDefault (SE-0409): a C library never leaks into a public interface.
/// - MemberImportVisibility (SE-0444): each import edge is written down, so it can be checked.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A library target in a room of the house; see Docs/Architecture.md for who may import whom.
func target(
  _ name: String, in room: String, _ dependencies: [Target.Dependency] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "\(room)/\(name)", swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)Tests",
    swiftSettings: settings)
}

let package = Package(
  name: "Conifer",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "ConiferTree", targets: ["ConiferTree"]),
    .library(name: "ConiferQuery", targets: ["ConiferQuery"]),
    .library(name: "ConiferKeyValue", targets: ["ConiferKeyValue"]),
    .library(name: "ConiferStorage", targets: ["ConiferStorage"]),
    .library(name: "ConiferEncryption", targets: ["ConiferEncryption"]),
    .library(name: "ConiferLMDB", targets: ["ConiferLMDB"]),
    .library(name: "ConiferSQLite", targets: ["ConiferSQLite"]),
    .library(name: "ConiferLog", targets: ["ConiferLog"]),
    .library(name: "ConiferRocksDB", targets: ["ConiferRocksDB"]),
    .library(name: "StorageConformance", targets: ["StorageConformance"]),
    .library(name: "ConiferWire", targets: ["ConiferWire"]),
    .library(name: "ConiferSync", targets: ["ConiferSync"]),
    .library(name: "Conifer", targets: ["Conifer"]),
    .library(name: "ConiferServer", targets: ["ConiferServer"]),
    .executable(name: "conifer", targets: ["ConiferTool"]),
  ],
  traits: [
    .trait(name: "Zstd", description: "Compress leaf runs with libzstd."),
    .trait(name: "Encryption", description: "Encrypt stores with swift-crypto."),
    .trait(name: "RocksDB", description: "The backend on RocksDB; needs librocksdb."),
    .default(enabledTraits: ["Zstd"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Not even cloned without the trait Encryption.
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    target("ConiferTree", in: "Sources/Model"),
    target("ConiferQuery", in: "Sources/Model", ["ConiferTree"]),
    target("ConiferKeyValue", in: "Sources/Storage"),
    .systemLibrary(
      name: "CZstd", path: "Sources/Storage/CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    target(
      "ConiferStorage", in: "Sources/Storage",
      [
        "ConiferTree", "ConiferQuery", "ConiferKeyValue",
        .target(name: "CZstd", condition: .when(traits: ["Zstd"])),
      ]),
    .target(name: "CStorageProbe", path: "Sources/Storage/CStorageProbe"),
    target(
      "ConiferEncryption", in: "Sources/Storage",
      [
        "ConiferKeyValue",
        .product(
          name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
      ]),
    target(
      "StorageConformance", in: "Sources/Storage",
      ["ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "CStorageProbe"]),
    .systemLibrary(
      name: "CLMDB", path: "Plugins/LMDB/CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    target(
      "ConiferLMDB", in: "Plugins/LMDB", ["ConiferKeyValue", "ConiferStorage", "CLMDB"]),
    .systemLibrary(
      name: "CSQLite", path: "Plugins/SQLite/CSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    target(
      "ConiferSQLite", in: "Plugins/SQLite", ["ConiferKeyValue", "ConiferStorage", "CSQLite"]),
    target("ConiferLog", in: "Plugins/Log", ["ConiferKeyValue", "ConiferStorage"]),
    .systemLibrary(
      name: "CRocksDB", path: "Plugins/RocksDB/CRocksDB", pkgConfig: "rocksdb",
      providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]),
    target(
      "ConiferRocksDB", in: "Plugins/RocksDB",
      [
        "ConiferKeyValue", "ConiferStorage",
        .target(name: "CRocksDB", condition: .when(traits: ["RocksDB"])),
      ]),
    target("ConiferWire", in: "Sources/Sync", ["ConiferTree", "ConiferQuery"]),
    target(
      "ConiferSync", in: "Sources/Sync",
      ["ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferWire"]),
    target(
      "Conifer", in: "Sources/Client",
      [
        "ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferWire",
        "ConiferSync", .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ConiferServer", in: "Sources/Server",
      [
        "ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferWire",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .executableTarget(
      name: "ConiferTool",
      dependencies: [
        "ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferLMDB",
        "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "ConiferEncryption", "Conifer",
        "ConiferServer",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Tools/ConiferTool", swiftSettings: settings),
    target("TestSupport", in: "Tests", ["ConiferKeyValue"]),
    tests("ConiferTree", ["ConiferTree"]),
    tests("ConiferQuery", ["ConiferQuery", "ConiferTree"]),
    tests("ConiferKeyValue", ["ConiferKeyValue"]),
    tests(
      "ConiferStorage",
      ["ConiferStorage", "ConiferKeyValue", "ConiferTree", "ConiferQuery", "TestSupport"]),
    tests(
      "ConiferEncryption",
      [
        "ConiferEncryption", "ConiferStorage", "ConiferKeyValue", "ConiferTree", "ConiferLMDB",
        "ConiferSQLite", "ConiferLog", "StorageConformance", "TestSupport",
      ]),
    tests(
      "ConiferLMDB", ["ConiferLMDB", "ConiferStorage", "ConiferKeyValue", "StorageConformance"]),
    tests(
      "ConiferSQLite",
      [
        "ConiferSQLite", "ConiferStorage", "ConiferKeyValue", "StorageConformance", "TestSupport",
      ]),
    tests(
      "ConiferLog",
      [
        "ConiferLog", "ConiferStorage", "ConiferKeyValue", "ConiferTree", "StorageConformance",
        "TestSupport",
      ]),
    tests(
      "ConiferRocksDB",
      [
        "ConiferRocksDB", "ConiferStorage", "ConiferKeyValue", "StorageConformance", "TestSupport",
      ]),
    tests(
      "StorageConformance",
      [
        "StorageConformance", "ConiferStorage", "ConiferKeyValue", "ConiferTree", "ConiferQuery",
        "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "TestSupport",
      ]),
    tests("ConiferWire", ["ConiferWire", "ConiferTree", "ConiferQuery"]),
    tests(
      "ConiferSync",
      [
        "ConiferSync", "ConiferWire", "ConiferStorage", "ConiferKeyValue", "ConiferTree",
        "ConiferQuery",
      ]
    ),
    tests(
      "ConiferServer",
      [
        "ConiferServer", "ConiferWire", "ConiferStorage", "ConiferKeyValue", "ConiferTree",
        "ConiferQuery",
      ]),
    tests(
      "Conifer",
      [
        "Conifer", "ConiferServer", "ConiferSync", "ConiferWire", "ConiferStorage",
        "ConiferKeyValue", "ConiferTree", "ConiferQuery", "ConiferLMDB", "ConiferSQLite",
        "ConiferLog", "TestSupport", .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferGuide",
      ["Conifer", "ConiferServer", "ConiferStorage", "ConiferLMDB", "TestSupport"]),
    // The guides' code once more, linked from ConiferGuideTests, in Swift 5 mode.
    .testTarget(
      name: "ConiferGuideSwift5Tests", dependencies: ["Conifer"],
      path: "Tests/ConiferGuideSwift5Tests",
      swiftSettings: settings + [.swiftLanguageMode(.v5)]),
    tests(
      "ConiferTool",
      [
        "ConiferTool", "ConiferTree", "ConiferStorage", "ConiferKeyValue", "ConiferLMDB",
        "ConiferLog",
        "ConiferEncryption",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
