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
  dependencies: [
    .package(name: "Conifer", path: ".."),
    // A backend from outside takes part like any other.
    .package(name: "CustomBackend", path: "../Examples/CustomBackend"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    .target(
      name: "ConiferBenchmark",
      dependencies: [
        .product(name: "ConiferTree", package: "Conifer"),
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "BenchTool",
      dependencies: [
        "ConiferBenchmark",
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "ConiferLMDB", package: "Conifer"),
        .product(name: "ConiferSQLite", package: "Conifer"),
        .product(name: "ConiferLog", package: "Conifer"),
        .product(name: "JournalStore", package: "CustomBackend"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ConiferBenchmarkTests",
      dependencies: [
        "ConiferBenchmark",
        .product(name: "ConiferTree", package: "Conifer"),
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "ConiferLog", package: "Conifer"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
