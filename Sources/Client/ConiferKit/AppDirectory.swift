import Conifer
import ConiferFirestore
import Foundation

/// The default directories of an app's databases, one for each database.
struct AppDirectory: Equatable {
  /// Where programs keep data: application support on Apple systems, the XDG data directory elsewhere.
  let base: String
  /// The app: its bundle's identifier, or else the name of its executable.
  let app: String

  /// That of this process.
  static var current: AppDirectory {
    let app = Bundle.main.bundleIdentifier ?? executable
    #if canImport(Darwin)
      let support = FileManager.default.urls(
        for: .applicationSupportDirectory, in: .userDomainMask
      ).first
      return AppDirectory(base: support?.path ?? NSHomeDirectory(), app: app)
    #else
      return AppDirectory(
        base: xdg(ProcessInfo.processInfo.environment, home: NSHomeDirectory()), app: app)
    #endif
  }

  /// The XDG data directory; a relative one does not count, as its specification has it.
  static func xdg(_ environment: [String: String], home: String) -> String {
    if let named = environment["XDG_DATA_HOME"], named.hasPrefix("/") { return named }
    return home + "/.local/share"
  }

  /// The directory of a database of the tree: of its host and its name.
  func path(of configuration: DatabaseConfiguration) -> String {
    path("conifer", configuration.host.lowercased(), configuration.namespace)
  }

  /// The directory of a database without a server, which shares none with a copy of a server's data.
  func localPath(of namespace: String) -> String { path("conifer-local", namespace) }

  /// The directory of a database of documents: of its host, if the settings name one, its project and its id. One
  /// without a server shares none with a copy of a server's documents.
  func path(of configuration: FirestoreConfiguration) -> String {
    guard configuration.localAuthority == nil else {
      return path(
        "conifer-documents-local", configuration.projectID, configuration.databaseID)
    }
    return path(
      "conifer-documents", (configuration.host ?? "").lowercased(), configuration.projectID,
      configuration.databaseID)
  }

  private func path(_ names: String...) -> String {
    ([base] + ([app] + names).flatMap(Self.components)).joined(separator: "/")
  }

  /// A name as components of a path. No two names share one, on file systems that ignore case either.
  ///
  /// Lower-case letters, digits and `-_.` are kept; other bytes are written as `%` and two digits.
  /// A name that is too long for a file name continues in a directory whose name ends in `+`.
  static func components(_ name: String) -> [String] {
    let limit = 200
    var text = ""
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      // None begins a component: that would be hidden, or another directory.
      case UInt8(ascii: ".") where !text.utf8.count.isMultiple(of: limit): text += "."
      default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    if text.isEmpty { return ["%"] }
    var rest = Substring(text)
    var components: [String] = []
    while rest.utf8.count > limit {
      components.append(rest.prefix(limit) + "+")
      rest = rest.dropFirst(limit)
    }
    return components + [String(rest)]
  }

  private static var executable: String {
    #if os(Linux)
      let link = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      if link.path != "/proc/self/exe" { return link.lastPathComponent }
    #endif
    return ProcessInfo.processInfo.processName
  }
}
