// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "ConiferBenchmarks",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "ConiferBenchmark", targets: ["ConiferBenchmark"]),
    .executable(name: "conifer-bench", targets: ["BenchTool"]),
  ],
  traits: [
    .trait(name: "LevelDB", description: "Raw LevelDB takes part; needs libleveldb."),
    .trait(name: "RocksDB", description: "RocksDB takes part; needs librocksdb."),
    .trait(name: "GRDB", description: "GRDB takes part."),
    .trait(name: "Encryption", description: "Backends take part encrypted too."),
    .trait(name: "Network", description: "Measures clients and the local server over sockets."),
    .trait(name: "GRPC", description: "Measures documents over gRPC."),
  ],
  dependencies: [
    .package(
      name: "Conifer", path: "..",
      traits: [
        "Zstd", .trait(name: "RocksDB", condition: .when(traits: ["RocksDB"])),
        .trait(name: "Encryption", condition: .when(traits: ["Encryption"])),
        .trait(name: "Network", condition: .when(traits: ["Network"])),
        .trait(name: "GRPC", condition: .when(traits: ["GRPC"])),
      ]),
    // A backend from outside takes part like any other.
    .package(name: "CustomBackend", path: "../Examples/CustomBackend"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .target(name: "CCounter"),
    .target(
      name: "CPeers",
      cSettings: [.define("PEERS_LEVELDB", .when(traits: ["LevelDB"]))],
      linkerSettings: [
        .linkedLibrary("lmdb"), .linkedLibrary("sqlite3"), .linkedLibrary("zstd"),
        .linkedLibrary("leveldb", .when(traits: ["LevelDB"])),
      ]),
    .target(
      name: "ConiferBenchmark",
      dependencies: [
        "CCounter", "CPeers",
        .product(name: "Conifer", package: "Conifer"),
        .product(name: "ConiferWire", package: "Conifer"),
        .product(name: "ConiferTree", package: "Conifer"),
        .product(name: "ConiferQuery", package: "Conifer"),
        .product(name: "ConiferDocument", package: "Conifer"),
        .product(name: "ConiferFirestore", package: "Conifer"),
        .product(name: "ConiferDocumentServer", package: "Conifer"),
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(
          name: "ConiferServer", package: "Conifer", condition: .when(traits: ["Network"])),
        .product(
          name: "ConiferServerHTTP", package: "Conifer", condition: .when(traits: ["Network"])),
        .product(
          name: "ConiferWebSocket", package: "Conifer", condition: .when(traits: ["Network"])),
        .product(name: "ConiferGRPC", package: "Conifer", condition: .when(traits: ["GRPC"])),
        .product(name: "ConiferServerGRPC", package: "Conifer", condition: .when(traits: ["GRPC"])),
        .product(
          name: "Logging", package: "swift-log", condition: .when(traits: ["Network", "GRPC"])),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "Mustache", package: "swift-mustache"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "BenchTool",
      dependencies: [
        "ConiferBenchmark", "CPeers",
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "ConiferLMDB", package: "Conifer"),
        .product(name: "ConiferSQLite", package: "Conifer"),
        .product(name: "ConiferLog", package: "Conifer"),
        .product(
          name: "ConiferRocksDB", package: "Conifer", condition: .when(traits: ["RocksDB"])),
        .product(
          name: "ConiferEncryption", package: "Conifer", condition: .when(traits: ["Encryption"])),
        .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["GRDB"])),
        .product(name: "JournalStore", package: "CustomBackend"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ConiferBenchmarkTests",
      dependencies: [
        "ConiferBenchmark", "CPeers",
        .product(name: "ConiferTree", package: "Conifer"),
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "ConiferLog", package: "Conifer"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
