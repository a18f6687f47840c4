// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "CustomBackend",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "JournalStore", targets: ["JournalStore"])
  ],
  dependencies: [
    // From outside: .package(url: "…/conifer", from: "…", traits: [])
    .package(name: "Conifer", path: "../..", traits: [])
  ],
  targets: [
    .target(
      name: "JournalStore",
      dependencies: [
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
      ]),
    .executableTarget(
      name: "diary",
      dependencies: [
        "JournalStore",
        .product(name: "ConiferTree", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
      ]),
    .executableTarget(
      name: "journal-tool",
      dependencies: [
        "JournalStore",
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "ConiferTool", package: "Conifer"),
      ]),
    .testTarget(
      name: "JournalStoreTests",
      dependencies: [
        "JournalStore",
        .product(name: "ConiferKeyValue", package: "Conifer"),
        .product(name: "ConiferStorage", package: "Conifer"),
        .product(name: "StorageConformance", package: "Conifer"),
        .product(name: "ClientConformance", package: "Conifer"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
