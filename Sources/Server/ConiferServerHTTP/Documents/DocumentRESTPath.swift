import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

/// The place that a URL of the documents' REST API names.
struct DocumentRESTPath: Hashable {
  enum Place: Hashable {
    /// All documents of the database.
    case root
    case document(DocumentPath)
    case collection(CollectionPath)
  }

  /// The maximum length of a path as it was sent: enough for the longest path of a document with every byte
  /// percent-encoded.
  private static let longest = 32 << 10
  private static let prefixes = ["/v1/", "/v1beta1/", "/emulator/v1/"]

  let database: DatabaseID
  let place: Place
  /// What is done there, of `documents:commit`; nil when the method says it.
  let verb: String?
  /// Whether it is one of the emulator's own.
  let isEmulators: Bool

  /// Whether a path is of this API: `/v1/projects/P/databases/D/documents…`. The tree has no such data.
  static func isDocuments(_ path: String) -> Bool { rest(of: path) != nil }

  /// The segments from the project on, as they were sent.
  private static func rest(
    of path: String
  ) -> (segments: [Substring.UTF8View], isEmulators: Bool)? {
    for prefix in prefixes where path.utf8.starts(with: prefix.utf8) {
      let rest = path.utf8.dropFirst(prefix.utf8.count)
      let segments = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      guard segments.count >= 5, segments[0].elementsEqual("projects".utf8),
        segments[2].elementsEqual("databases".utf8)
      else { continue }
      let word = segments[4].prefix { $0 != UInt8(ascii: ":") }
      guard word.elementsEqual("documents".utf8) else { continue }
      return (Array(segments), prefix.utf8.elementsEqual("/emulator/v1/".utf8))
    }
    return nil
  }

  /// Reads a path for which `isDocuments` holds.
  ///
  /// - Parameter hasVerb: whether what stands behind the last colon is a verb: of `POST`.
  /// - Throws: `invalidArgument` with what is wrong.
  init(_ path: String, hasVerb: Bool) throws(StatusError) {
    guard let found = Self.rest(of: path), path.utf8.count <= Self.longest else {
      throw StatusError(.invalidArgument, "The path has more than \(Self.longest) bytes.")
    }
    var segments = found.segments
    isEmulators = found.isEmulators
    var verb: String?
    if hasVerb || segments.count == 5, let last = segments.last,
      let colon = last.lastIndex(of: UInt8(ascii: ":"))
    {
      verb = String(Substring(last[last.index(after: colon)...]))
      segments[segments.count - 1] = last[..<colon]
    }
    self.verb = verb
    guard segments[4].elementsEqual("documents".utf8) else {
      throw StatusError(.invalidArgument, "Behind the database the path goes on with documents.")
    }
    var texts: [String] = []
    for segment in segments {
      guard let text = Self.decoded(segment), !text.isEmpty,
        !text.utf8.contains(UInt8(ascii: "/"))
      else {
        throw StatusError(
          .invalidArgument,
          "A segment of the path is empty, holds a slash, or is no percent-encoded UTF-8.")
      }
      texts.append(text)
    }
    database = try DatabaseID(project: texts[1], served: texts[3])
    let rest = texts[5...].joined(separator: "/")
    do throws(DocumentError) {
      place =
        switch texts.count - 5 {
        case 0: .root
        case let count where count.isMultiple(of: 2): .document(try DocumentPath(rest))
        default: .collection(try CollectionPath(rest))
        }
    } catch { throw StatusError(.invalidArgument, error.message) }
  }

  /// The database's documents, or the document, by name.
  var name: String {
    switch place {
    case .root: "\(database)/documents"
    case .document(let path): "\(DocumentName(path, in: database))"
    case .collection(let path): "\(database)/documents/\(path)"
    }
  }

  /// The decoded text; nil when it is invalid.
  private static func decoded(_ segment: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = segment[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
