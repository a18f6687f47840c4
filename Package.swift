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

/// What the scripts ask for, of the stores and all below them: their tests take a fraction of the
/// time. All traps and assertions stay. What is above them, and the tests themselves, take longer
/// to be optimized than their tests take without. Whole modules are optimized at once, in two
/// threads: file by file takes three times as long, and one thread leaves its objects in the
/// working directory.
let optimized: [SwiftSetting] =
  Context.environment["CONIFER_OPTIMIZED"] == nil
  ? []
  : [
    .unsafeFlags([
      "-O", "-whole-module-optimization", "-num-threads", "2", "-assert-config", "Debug",
    ])
  ]

/// A library target in a room of the house; see Docs/Architecture.md for who may import whom.
func target(
  _ name: String, in room: String, _ dependencies: [Target.Dependency] = [],
  privacyManifest: String? = nil
) -> Target {
  let isStorage = ["Sources/Model", "Sources/Storage"].contains(room) || room.hasPrefix("Plugins/")
  return .target(
    name: name, dependencies: dependencies, path: "\(room)/\(name)",
    exclude: hasPrivacyManifests ? [] : [privacyManifest].compactMap { $0 },
    resources: hasPrivacyManifests ? [privacyManifest].compactMap { $0.map { .copy($0) } } : [],
    swiftSettings: settings + (isStorage ? optimized : []))
}

/// Whether this machine builds for Apple's systems. On others, a target with a resource would get code that looks for it.
#if os(macOS)
  let hasPrivacyManifests = true
#else
  let hasPrivacyManifests = false
#endif

/// A stand-in for SwiftUI where there is none, for the example's sources.
#if os(macOS)
  let swiftUI: [Target.Dependency] = []
#else
  let swiftUI: [Target.Dependency] = ["SwiftUI"]
#endif

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)Tests",
    swiftSettings: settings)
}

/// A product of a package that the transport over WebSockets needs, and the server that is asked for with it.
func webSocket(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["WebSocket"]))
}

/// A product of a package that only the trait Network asks for.
func network(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["Network"]))
}

/// A product of a package that only the trait GRPC asks for.
func grpc(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(traits: ["GRPC"]))
}

let package = Package(
  name: "Conifer",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "ConiferTree", targets: ["ConiferTree"]),
    .library(name: "ConiferQuery", targets: ["ConiferQuery"]),
    .library(name: "ConiferDocument", targets: ["ConiferDocument"]),
    .library(name: "ConiferKeyValue", targets: ["ConiferKeyValue"]),
    .library(name: "ConiferStorage", targets: ["ConiferStorage"]),
    .library(name: "ConiferEncryption", targets: ["ConiferEncryption"]),
    .library(name: "ConiferLMDB", targets: ["ConiferLMDB"]),
    .library(name: "ConiferSQLite", targets: ["ConiferSQLite"]),
    .library(name: "ConiferLog", targets: ["ConiferLog"]),
    .library(name: "ConiferRocksDB", targets: ["ConiferRocksDB"]),
    .library(name: "StorageConformance", targets: ["StorageConformance"]),
    .library(name: "ConiferWire", targets: ["ConiferWire"]),
    .library(name: "Conifer", targets: ["Conifer"]),
    .library(name: "ConiferFirestore", targets: ["ConiferFirestore"]),
    .library(name: "ConiferWebSocket", targets: ["ConiferWebSocket"]),
    .library(name: "ConiferGRPC", targets: ["ConiferGRPC"]),
    .library(name: "ConiferKit", targets: ["ConiferKit"]),
    .library(name: "ConiferObservation", targets: ["ConiferObservation"]),
    .library(name: "ConiferServer", targets: ["ConiferServer"]),
    .library(name: "ConiferDocumentServer", targets: ["ConiferDocumentServer"]),
    .library(name: "ConiferServerHTTP", targets: ["ConiferServerHTTP"]),
    .library(name: "ConiferServerGRPC", targets: ["ConiferServerGRPC"]),
    .library(name: "ClientConformance", targets: ["ClientConformance"]),
    .library(name: "ConiferTool", targets: ["ConiferTool"]),
    .executable(name: "conifer", targets: ["ConiferToolMain"]),
  ],
  traits: [
    .trait(name: "Zstd", description: "Compress leaf runs with libzstd."),
    .trait(name: "WebSocket", description: "The transport over WebSockets, with SwiftNIO."),
    .trait(
      name: "Network", description: "The local server too, with JWTKit.",
      enabledTraits: ["WebSocket"]),
    .trait(
      name: "GRPC", description: "Documents over gRPC, with grpc-swift-2 and swift-protobuf."),
    .trait(name: "Encryption", description: "Encrypt stores with swift-crypto."),
    .trait(name: "RocksDB", description: "The backend on RocksDB; needs librocksdb."),
    .default(enabledTraits: ["Zstd", "Network"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Not even cloned without the traits Encryption and Network, whose jwt-kit needs it.
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    // Not even cloned without the traits WebSocket and GRPC.
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    // Not even cloned without the trait WebSocket.
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    // Not even cloned without the trait Network.
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    // Not even cloned without the trait GRPC.
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
  ],
  targets: [
    target("ConiferTree", in: "Sources/Model"),
    target("ConiferQuery", in: "Sources/Model", ["ConiferTree"]),
    target("ConiferDocument", in: "Sources/Model"),
    target("ConiferKeyValue", in: "Sources/Storage"),
    .systemLibrary(
      name: "CZstd", path: "Sources/Storage/CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),
    target(
      "ConiferLeafStore", in: "Sources/Storage",
      ["ConiferKeyValue", .target(name: "CZstd", condition: .when(traits: ["Zstd"]))]),
    target(
      "ConiferStorage", in: "Sources/Storage",
      [
        "ConiferTree", "ConiferQuery", "ConiferDocument", "ConiferKeyValue", "ConiferLeafStore",
      ]),
    .target(name: "CStorageProbe", path: "Sources/Storage/CStorageProbe"),
    target(
      "ConiferEncryption", in: "Sources/Storage",
      [
        "ConiferKeyValue",
        .product(
          name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
      ]),
    // Optimized too: without, its checks take more time than its compiling saves.
    target(
      "StorageConformance", in: "Sources/Storage",
      [
        "ConiferTree", "ConiferQuery", "ConiferDocument", "ConiferKeyValue", "ConiferStorage",
        "CStorageProbe",
      ]),
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
    target("ConiferWire", in: "Sources/Sync", ["ConiferTree", "ConiferQuery", "ConiferDocument"]),
    target(
      "ConiferSync", in: "Sources/Sync",
      ["ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferWire"]),
    target("ConiferDocumentSync", in: "Sources/Sync", ["ConiferDocument", "ConiferWire"]),
    target("ConiferNetworkWatch", in: "Sources/Sync", ["ConiferWire"]),
    target(
      "ConiferSockets", in: "Sources/Sync",
      [
        .product(
          name: "NIOCore", package: "swift-nio", condition: .when(traits: ["WebSocket", "GRPC"]))
      ]),
    .target(
      name: "ConiferProtobuf",
      dependencies: [
        "ConiferDocument", "ConiferWire", grpc("SwiftProtobuf", "swift-protobuf"),
        grpc("GRPCCore", "grpc-swift-2"),
      ],
      path: "Sources/Sync/ConiferProtobuf", exclude: ["Protos"], swiftSettings: settings),
    target(
      "ConiferGRPC", in: "Sources/Sync",
      [
        "ConiferProtobuf", "ConiferNetworkWatch", "ConiferSockets", "ConiferFirestore",
        "ConiferEngine", "ConiferStorage", "ConiferDocument", "ConiferWire",
        grpc("SwiftProtobuf", "swift-protobuf"), grpc("GRPCCore", "grpc-swift-2"),
        grpc("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
        grpc("NIOCore", "swift-nio"),
      ]),
    target(
      "ConiferEngine", in: "Sources/Client",
      ["ConiferKeyValue", "ConiferStorage", .product(name: "Logging", package: "swift-log")]),
    target(
      "Conifer", in: "Sources/Client",
      [
        "ConiferEngine", "ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage",
        "ConiferWire", "ConiferSync", .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ConiferFirestore", in: "Sources/Client",
      [
        "ConiferEngine", "ConiferDocumentSync", "ConiferDocument", "ConiferWire", "ConiferStorage",
        "ConiferKeyValue", .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ConiferServer", in: "Sources/Server",
      [
        "ConiferTree", "ConiferQuery", "ConiferKeyValue", "ConiferStorage", "ConiferWire",
        .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ConiferDocumentServer", in: "Sources/Server",
      [
        "ConiferDocument", "ConiferKeyValue", "ConiferStorage", "ConiferWire",
        .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ConiferWebSocket", in: "Sources/Sync",
      [
        "Conifer", "ConiferNetworkWatch", "ConiferSockets", "ConiferWire",
        webSocket("NIOCore", "swift-nio"),
        webSocket("NIOPosix", "swift-nio"), webSocket("NIOHTTP1", "swift-nio"),
        webSocket("NIOWebSocket", "swift-nio"), webSocket("NIOSSL", "swift-nio-ssl"),
      ]),
    .target(name: "CConiferKit", path: "Sources/Client/CConiferKit"),
    target(
      "ConiferKit", in: "Sources/Client",
      [
        "CConiferKit", "Conifer", "ConiferFirestore", "ConiferSQLite", "ConiferDocument",
        "ConiferEngine", "ConiferServer", "ConiferDocumentServer", "ConiferStorage",
        "ConiferKeyValue", "ConiferWire",
        .target(name: "ConiferWebSocket", condition: .when(traits: ["WebSocket"])),
        .target(name: "ConiferGRPC", condition: .when(traits: ["GRPC"])),
      ], privacyManifest: "PrivacyInfo.xcprivacy"),
    target(
      "ConiferObservation", in: "Sources/Client",
      ["Conifer", "ConiferFirestore", "ConiferDocument", "ConiferTree"]),
    target(
      "ConiferServerHTTP", in: "Sources/Server",
      [
        "ConiferServer", "ConiferDocumentServer", "ConiferSockets", "ConiferWire", "ConiferStorage",
        "ConiferKeyValue", "ConiferQuery", "ConiferTree", "ConiferDocument",
        .product(name: "Logging", package: "swift-log"), network("NIOCore", "swift-nio"),
        network("NIOPosix", "swift-nio"),
        network("NIOHTTP1", "swift-nio"), network("NIOWebSocket", "swift-nio"),
        network("JWTKit", "jwt-kit"), network("ServiceLifecycle", "swift-service-lifecycle"),
      ]),
    target(
      "ConiferServerGRPC", in: "Sources/Server",
      [
        "ConiferDocumentServer", "ConiferProtobuf", "ConiferSockets", "ConiferWire",
        "ConiferDocument", "ConiferTree", grpc("SwiftProtobuf", "swift-protobuf"),
        grpc("GRPCCore", "grpc-swift-2"),
        grpc("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
        grpc("NIOCore", "swift-nio"), grpc("NIOHTTP2", "swift-nio-http2"),
        grpc("NIOHPACK", "swift-nio-http2"),
        grpc("ServiceLifecycle", "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    target(
      "ClientConformance", in: "Sources/Client",
      ["Conifer", "ConiferServer", "ConiferStorage", "ConiferTree", "ConiferWire"]),
    .target(
      name: "ConiferTool",
      dependencies: [
        "ConiferTree", "ConiferQuery", "ConiferDocument", "ConiferKeyValue", "ConiferStorage",
        "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "ConiferEncryption",
        "Conifer", "ConiferServer", "ConiferServerHTTP", "ConiferWebSocket", "ConiferWire",
        "ConiferEngine", "ConiferFirestore", "ConiferDocumentServer", "ConiferServerGRPC",
        "ConiferGRPC", "ConiferSockets",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        network("ServiceLifecycle", "swift-service-lifecycle"),
        network("UnixSignals", "swift-service-lifecycle"),
        network("NIOCore", "swift-nio"), network("NIOPosix", "swift-nio"),
      ],
      path: "Sources/Tools/ConiferTool", swiftSettings: settings),
    .executableTarget(
      name: "ConiferToolMain", dependencies: ["ConiferTool", "ConiferStorage"],
      path: "Sources/Tools/ConiferToolMain", swiftSettings: settings),
    target(
      "TestSupport", in: "Tests",
      ["ConiferTree", "ConiferKeyValue", .product(name: "Logging", package: "swift-log")]),
    target(
      "NetworkTestSupport", in: "Tests",
      [
        "TestSupport", "ConiferEngine", network("NIOCore", "swift-nio"),
        network("NIOPosix", "swift-nio"),
      ]),
    .executableTarget(
      name: "GuideApp", dependencies: ["ConiferKit"], path: "Examples/GuideApp",
      swiftSettings: settings),
    // The README's first program.
    .executableTarget(
      name: "FirstApp", dependencies: ["ConiferKit"], path: "Examples/FirstApp",
      swiftSettings: settings),
    // An app for Apple systems; elsewhere it is type-checked, and does nothing.
    .executableTarget(
      name: "RoomsApp",
      dependencies: ["ConiferKit", "ConiferObservation", "ConiferStorage"] + swiftUI,
      path: "Examples/RoomsApp/Sources", swiftSettings: settings),
    // The outside example's backend, for the clients' tests and the benchmarks, and its tests, which
    // take a fraction of the time on the optimized stores.
    .target(
      name: "JournalStore", dependencies: ["ConiferKeyValue", "ConiferStorage"],
      path: "Examples/CustomBackend/Sources/JournalStore", swiftSettings: optimized),
    .testTarget(
      name: "JournalStoreTests",
      dependencies: [
        "JournalStore", "ConiferKeyValue", "ConiferStorage", "StorageConformance",
        "ClientConformance",
      ],
      path: "Examples/CustomBackend/Tests/JournalStoreTests", packageAccess: false),
    tests("ConiferTree", ["ConiferTree", "TestSupport"]),
    tests("ConiferQuery", ["ConiferQuery", "ConiferTree", "TestSupport"]),
    tests("ConiferDocument", ["ConiferDocument", "TestSupport"]),
    tests("ConiferKeyValue", ["ConiferKeyValue"]),
    tests(
      "ConiferStorage",
      [
        "ConiferStorage", "ConiferLeafStore", "ConiferKeyValue", "ConiferTree", "ConiferQuery",
        "ConiferDocument", "TestSupport",
      ]),
    tests(
      "ConiferEncryption",
      [
        "ConiferEncryption", "ConiferStorage", "ConiferDocument", "ConiferKeyValue", "ConiferTree",
        "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "JournalStore",
        "StorageConformance", "TestSupport",
      ]),
    tests(
      "ConiferLMDB",
      [
        "ConiferLMDB", "ConiferStorage", "ConiferLeafStore", "ConiferKeyValue",
        "StorageConformance",
      ]),
    tests(
      "ConiferSQLite",
      [
        "ConiferSQLite", "ConiferStorage", "ConiferKeyValue", "StorageConformance", "TestSupport",
      ]),
    tests(
      "ConiferLog",
      [
        "ConiferLog", "ConiferStorage", "ConiferLeafStore", "ConiferKeyValue", "ConiferTree",
        "StorageConformance",
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
        "StorageConformance", "ConiferStorage", "ConiferLeafStore", "ConiferKeyValue",
        "ConiferTree", "ConiferQuery", "ConiferDocument",
        "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "ConiferEncryption",
        "TestSupport",
      ]),
    tests(
      "ConiferWire",
      ["ConiferWire", "ConiferTree", "ConiferQuery", "ConiferDocument", "TestSupport"]),
    tests(
      "ConiferSync",
      [
        "ConiferSync", "ConiferWire", "ConiferStorage", "ConiferKeyValue", "ConiferTree",
        "ConiferQuery", "TestSupport",
      ]
    ),
    tests(
      "ConiferDocumentSync",
      ["ConiferDocumentSync", "ConiferDocument", "ConiferWire", "TestSupport"]),
    tests(
      "ConiferFirestore",
      [
        "ConiferFirestore", "ConiferDocumentServer", "ConiferDocumentSync", "ConiferDocument",
        "ConiferWire", "ConiferEngine", "ConiferStorage", "ConiferLeafStore", "ConiferKeyValue",
        "ConiferTree", "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB",
        "JournalStore", "StorageConformance", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferDocumentServer",
      [
        "ConiferDocumentServer", "ConiferDocument", "ConiferWire", "ConiferStorage",
        "ConiferKeyValue", "ConiferLMDB", "ConiferSQLite", "ConiferLog", "ConiferRocksDB",
        "JournalStore", "TestSupport",
      ]),
    tests(
      "ConiferServer",
      [
        "ConiferServer", "ConiferWire", "ConiferStorage", "ConiferKeyValue", "ConiferTree",
        "ConiferQuery", "ConiferLMDB", "ConiferSQLite", "ConiferLog", "JournalStore",
        "TestSupport",
      ]),
    tests(
      "Conifer",
      [
        "Conifer", "ConiferEngine", "ClientConformance", "ConiferServer", "ConiferSync",
        "ConiferWire", "ConiferStorage", "ConiferLeafStore", "ConiferEncryption",
        "ConiferKeyValue", "ConiferTree", "ConiferQuery", "ConiferLMDB", "ConiferSQLite",
        "ConiferLog", "JournalStore", "StorageConformance", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferGuide",
      [
        "Conifer", "ConiferServer", "ConiferStorage", "ConiferTree", "ConiferLMDB", "TestSupport",
      ]),
    // The guides' code once more, linked from ConiferGuideTests, in Swift 5 mode.
    .testTarget(
      name: "ConiferGuideSwift5Tests", dependencies: ["Conifer"],
      path: "Tests/ConiferGuideSwift5Tests",
      swiftSettings: settings + [.swiftLanguageMode(.v5)]),
    tests(
      "ConiferKit",
      [
        "ConiferKit", "GuideApp", "FirstApp", "Conifer", "ConiferFirestore", "ConiferServer",
        "ConiferDocumentServer", "ConiferServerHTTP", "ConiferStorage", "ConiferKeyValue",
        "ConiferTree", "ConiferDocument", "ConiferLMDB", "ConiferLog", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferObservation",
      [
        "ConiferObservation", "Conifer", "ConiferFirestore", "ConiferServer",
        "ConiferDocumentServer", "ConiferDocument", "ConiferQuery", "ConiferTree", "ConiferWire",
        "TestSupport", .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferWebSocket",
      [
        "ConiferWebSocket", "ConiferNetworkWatch", "ConiferServerHTTP", "Conifer", "ConiferServer",
        "ConiferWire",
        "ConiferStorage", "ConiferKeyValue", "ConiferTree", "ConiferQuery", "ConiferLMDB",
        "ConiferSQLite", "ConiferLog", "TestSupport", "NetworkTestSupport",
        network("NIOCore", "swift-nio"), network("NIOPosix", "swift-nio"),
        network("NIOHTTP1", "swift-nio"),
        network("NIOWebSocket", "swift-nio"), network("NIOSSL", "swift-nio-ssl"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferGRPC",
      [
        "ConiferGRPC", "ConiferServerGRPC", "ConiferNetworkWatch", "ConiferProtobuf",
        "ConiferFirestore",
        "ConiferDocumentServer",
        "ConiferDocumentSync", "ConiferEngine", "ConiferDocument", "ConiferWire",
        "ConiferStorage", "ConiferKeyValue", "ConiferLMDB", "ConiferSQLite", "ConiferLog",
        "TestSupport", "NetworkTestSupport", grpc("SwiftProtobuf", "swift-protobuf"),
        grpc("GRPCCore", "grpc-swift-2"),
        grpc("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
        grpc("NIOCore", "swift-nio"), grpc("NIOPosix", "swift-nio"),
        grpc("NIOHTTP2", "swift-nio-http2"), grpc("NIOHPACK", "swift-nio-http2"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferServerHTTP",
      [
        "ConiferServerHTTP", "ConiferServer", "ConiferDocumentServer", "ConiferWire",
        "ConiferStorage", "ConiferKeyValue", "ConiferTree", "ConiferQuery", "ConiferDocument",
        "ConiferLMDB", "TestSupport", "NetworkTestSupport",
        network("NIOCore", "swift-nio"), network("NIOPosix", "swift-nio"),
        network("JWTKit", "jwt-kit"), .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "ConiferTool",
      [
        "ConiferTool", "ConiferTree", "ConiferDocument", "ConiferStorage", "ConiferKeyValue",
        "ConiferFirestore", "ConiferDocumentServer", "ConiferLMDB", "ConiferLog",
        "ConiferEncryption", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// The benchmarks are a package of their own. The scripts build them with the tests instead, so that nothing is built
// twice; their packages are nobody else's. What they may use is what any other package may.
if Context.environment["CONIFER_BENCHMARKS"] != nil {
  let outside = settings + [.unsafeFlags(["-package-name", "benchmarks"])]
  package.dependencies += [
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
  ]
  package.targets += [
    .target(name: "CCounter", path: "Benchmarks/Sources/CCounter"),
    .target(
      name: "CPeers", path: "Benchmarks/Sources/CPeers", cSettings: [.define("PEERS_LEVELDB")],
      linkerSettings: ["lmdb", "sqlite3", "zstd", "leveldb"].map { .linkedLibrary($0) }),
    .target(
      name: "ConiferBenchmark",
      dependencies: [
        "CCounter", "CPeers", "Conifer", "ConiferWire", "ConiferTree", "ConiferQuery",
        "ConiferDocument", "ConiferFirestore", "ConiferDocumentServer", "ConiferKeyValue",
        "ConiferStorage", "ConiferServer", "ConiferServerHTTP", "ConiferWebSocket", "ConiferGRPC",
        "ConiferServerGRPC",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "Mustache", package: "swift-mustache"),
      ],
      path: "Benchmarks/Sources/ConiferBenchmark", packageAccess: false,
      swiftSettings: outside + optimized),
    .executableTarget(
      name: "BenchTool",
      dependencies: [
        "ConiferBenchmark", "CPeers", "ConiferKeyValue", "ConiferStorage", "ConiferLMDB",
        "ConiferSQLite", "ConiferLog", "ConiferRocksDB", "ConiferEncryption", "JournalStore",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Benchmarks/Sources/BenchTool", packageAccess: false, swiftSettings: outside),
    .testTarget(
      name: "ConiferBenchmarkTests",
      dependencies: [
        "ConiferBenchmark", "CPeers", "ConiferTree", "ConiferKeyValue", "ConiferStorage",
        "ConiferLog",
      ],
      path: "Benchmarks/Tests/ConiferBenchmarkTests", packageAccess: false,
      swiftSettings: outside),
  ]
  package.products.append(.executable(name: "conifer-bench", targets: ["BenchTool"]))
}

if !swiftUI.isEmpty {
  package.targets.append(
    .target(name: "SwiftUI", path: "Examples/RoomsApp/Stub", swiftSettings: settings))
}

// For work on a part: CONIFER_TESTS="ConiferSync ConiferQuery" builds these tests and what they need, nothing else.
if let wanted = Context.environment["CONIFER_TESTS"] {
  var needed = Set(wanted.split(separator: " ").map { "\($0)Tests" })
  for _ in package.targets {
    for target in package.targets where needed.contains(target.name) {
      for dependency in target.dependencies {
        switch dependency {
        case .byNameItem(let name, _), .targetItem(let name, _): needed.insert(name)
        default: break
        }
      }
    }
  }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products = []
}
