import ConiferKeyValue
import ConiferTree

/// The lines in the mark of a store that a migration is filling: which one that is, and how far it has come.
struct MigrationMark {
  /// A number by which the mark of an earlier store says that it was moved into this one. No path says it, as an update of
  /// an app may give its directories other paths.
  let id: UInt64
  /// Whether nothing but hidden files was in the new directory at the beginning, so that all that is there now is the copy's.
  let isAlone: Bool
  /// The kind of the new store, as its configuration names it.
  let kind: String
  var place = CopyPosition()

  /// The second line, by which a migration knows its own mark.
  private static let maker = "conifer storage migration 1"
  private static let alone = "alone"
  /// A place with longer keys is not written: the tree is copied from its beginning then.
  private static let longestPath = 4096

  init(isAlone: Bool, kind: String) {
    id = UInt64.random(in: 1 ... .max)
    (self.isAlone, self.kind) = (isAlone, kind.filter { !$0.isWhitespace })
  }

  /// The mark of a directory; nil when it has none, or one of another maker.
  ///
  /// - Parameter file: the name that the mark has.
  /// - Throws: `denied`, `io`.
  init?(of directory: String, in file: String = UnfinishedStore.file) throws(StoreError) {
    guard let lines = try UnfinishedStore.lines(directory, in: file), lines.count >= 6,
      lines[1] == Self.maker, let id = UInt64(lines[2], radix: 16)
    else { return nil }
    self.id = id
    let words = lines[5].split(separator: " ", omittingEmptySubsequences: false)
    isAlone = words.first == Self.alone[...]
    kind = words.count == 2 ? String(words[1]) : ""
    guard let phase = CopyPosition.Phase(rawValue: lines[3]) else { return }
    place = CopyPosition(phase: phase, tree: lines[4].isEmpty ? nil : Self.text(lines[4]))
    let keys = lines.dropFirst(6).filter { !$0.isEmpty }.compactMap(Self.text).map { Key($0) }
    if !keys.isEmpty { place.path = Path(keys) }
  }

  /// Marks a directory, durably.
  ///
  /// - Parameter source: the earlier store's directory.
  /// - Throws: `denied`, `full`, `io`.
  func write(to directory: String, from source: String) throws(StoreError) {
    var lines = [
      "the app moves \(source.filter { !$0.isNewline }) into it; start the app again",
      Self.maker, id.hex, place.phase.rawValue, place.tree.map(Self.hex) ?? "",
      "\(isAlone ? Self.alone : "") \(kind)",
    ]
    let keys = (place.path?.keys ?? []).map { Self.hex($0.string) }
    if keys.reduce(0, { $0 + $1.utf8.count + 1 }) <= 2 * Self.longestPath { lines += keys }
    try UnfinishedStore.mark(directory, lines)
  }

  // No line may hold the end of one.
  private static func hex(_ text: String) -> String { Array(text.utf8).hex }

  private static func text(_ hex: String) -> String? {
    var bytes: Bytes = []
    var digits = hex.utf8.makeIterator()
    while let first = digits.next() {
      guard let high = first.hexDigit, let low = digits.next()?.hexDigit else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
