import Foundation
import Testing

/// What an app that links `ConiferKit` declares to Apple for it.
@Suite struct `The privacy manifest` {
  /// Functions that Apple asks a reason for, by the category that its documentation puts them in ("Describing use of
  /// required reason API"); those of keyboards are no functions that a library like this could call.
  private static let calls: [String: [String]] = [
    "NSPrivacyAccessedAPICategoryFileTimestamp": [
      "stat", "fstat", "lstat", "fstatat", "getattrlist", "fgetattrlist", "getattrlistat",
      "getattrlistbulk", "creationDate", "modificationDate", "fileModificationDate",
      "creationDateKey", "contentModificationDate", "contentModificationDateKey",
      "attributesOfItem",
    ],
    "NSPrivacyAccessedAPICategoryDiskSpace": [
      "statfs", "fstatfs", "statvfs", "fstatvfs", "attributesOfFileSystem", "systemFreeSize",
      "systemSize", "volumeAvailableCapacityKey", "volumeAvailableCapacity",
      "volumeAvailableCapacityForImportantUsageKey", "volumeTotalCapacityKey",
    ],
    "NSPrivacyAccessedAPICategorySystemBootTime": ["systemUptime", "mach_absolute_time"],
    "NSPrivacyAccessedAPICategoryUserDefaults": ["UserDefaults", "NSUserDefaults"],
  ]

  /// The reasons that hold: what is looked at are sizes and kinds of files in the app's own container.
  private static let reasons = ["NSPrivacyAccessedAPICategoryFileTimestamp": ["C617.1"]]

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The targets that the product is built of, as Package.swift names them.
  private static let targets = [
    "Sources/Client/ConiferKit", "Sources/Client/CConiferKit", "Sources/Client/Conifer",
    "Sources/Client/ConiferFirestore", "Sources/Client/ConiferEngine", "Sources/Model",
    "Sources/Storage/ConiferKeyValue", "Sources/Storage/ConiferLeafStore",
    "Sources/Storage/ConiferStorage", "Sources/Storage/ConiferEncryption",
    "Sources/Storage/CZstd", "Sources/Sync", "Sources/Server/ConiferServer",
    "Sources/Server/ConiferDocumentServer", "Plugins/SQLite",
  ]

  private func manifest() throws -> [String: Any] {
    let file = Self.root.appendingPathComponent("Sources/Client/ConiferKit/PrivacyInfo.xcprivacy")
    let list = try PropertyListSerialization.propertyList(
      from: try Data(contentsOf: file), options: [], format: nil)
    return try #require(list as? [String: Any])
  }

  @Test func `says that nothing is tracked or collected`() throws {
    let manifest = try manifest()
    #expect(manifest["NSPrivacyTracking"] as? Bool == false)
    #expect((manifest["NSPrivacyTrackingDomains"] as? [Any])?.isEmpty == true)
    #expect((manifest["NSPrivacyCollectedDataTypes"] as? [Any])?.isEmpty == true)
    #expect(manifest.count == 4)
  }

  @Test func `gives the reasons of what the sources call, and of nothing else`() throws {
    let declared = try #require(try manifest()["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    var reasons: [String: [String]] = [:]
    for entry in declared {
      let category = try #require(entry["NSPrivacyAccessedAPIType"] as? String)
      reasons[category] = entry["NSPrivacyAccessedAPITypeReasons"] as? [String]
    }
    #expect(reasons == Self.reasons)
    let called = try called()
    #expect(Set(reasons.keys) == Set(called.keys), "\(called)")
  }

  /// The categories that the sources call functions of, each with one place.
  private func called() throws -> [String: String] {
    var found: [String: String] = [:]
    let names = Self.calls.flatMap { category, names in names.map { ($0, category) } }
    for file in try sources() {
      let text = try String(contentsOf: file, encoding: .utf8)
      for line in text.split(separator: "\n") {
        let code = line.prefix(upTo: line.range(of: "//")?.lowerBound ?? line.endIndex)
        let words = Set(code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
        for (name, category) in names where words.contains(name) {
          // A path such as /proc/1/stat is no call.
          if name == "stat", !code.contains("stat(") { continue }
          found[category] = "\(file.lastPathComponent): \(name)"
        }
      }
    }
    return found
  }

  private func sources() throws -> [URL] {
    var files: [URL] = []
    for target in Self.targets {
      let directory = Self.root.appendingPathComponent(target)
      let found = try #require(
        FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
      for case let file as URL in found
      where ["swift", "c", "h", "m"].contains(file.pathExtension) {
        files.append(file)
      }
    }
    try #require(files.count > 300)
    return files
  }
}
