import ConiferStorage
import ConiferTree

/// A file in a store that is being filled by a migration: from where, and how far it has come.
///
/// It is written before the store is made, so that a store without it is never written into, and
/// removed when the migration is confirmed.
struct MigrationMarker {
  /// The file's name in the target's directory.
  static let name = "migration"

  /// The absolute directory of the source.
  let source: String
  var place = CopyPosition()
  /// The source's digest when the target had the same.
  var digest: String?

  var isDone: Bool { digest != nil }

  init(source: String) { self.source = source }

  /// The marker of a directory, nil when there is none.
  static func read(_ directory: String) throws -> MigrationMarker? {
    let path = "\(directory)/\(name)"
    guard Platform.exists(path) else { return nil }
    guard let node = try? Node(json: Platform.contents(path)),
      let source = node.member("source").text
    else {
      throw Failure(
        "foreign", .foreign,
        "\(path) is not what a migration wrote: give another directory, or remove this one.")
    }
    var marker = MigrationMarker(source: source)
    marker.digest = node.member("digest").text
    marker.place = CopyPosition(
      phase: node.member("phase").text.flatMap(CopyPosition.Phase.init) ?? .queues,
      tree: node.member("tree").text)
    let keys = node.member("path").children.compactMap { $0.node.text.map { Key($0) } }
    if !keys.isEmpty { marker.place.path = Path(keys) }
    return marker
  }

  func write(_ directory: String) throws {
    let report = Report.object([
      ("source", .string(source)), ("phase", .string(place.phase.rawValue)),
      ("tree", .optional(place.tree)),
      ("path", .list(place.path?.keys.map { .string($0.string) } ?? [])),
      ("digest", .optional(digest)),
    ])
    try Directory.put(Array("\(report.compact)\n".utf8), at: "\(directory)/\(Self.name)")
  }

  static func remove(_ directory: String) { Directory.remove("\(directory)/\(name)") }
}
